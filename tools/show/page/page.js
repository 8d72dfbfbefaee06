'use strict';

function button(content, act) {
	const made = document.createElement('button');
	made.type = 'button';
	made.append(...content);
	made.addEventListener('click', act);
	return made;
}

/* Returns a field that calls `act` with each text that is typed, in lower case. */
function searchField(placeholder, label, act) {
	const made = document.createElement('input');
	made.type = 'search';
	made.placeholder = placeholder;
	made.setAttribute('aria-label', label);
	made.addEventListener('input', () => act(made.value.trim().toLowerCase()));
	return made;
}

/* The chart of call chains: zoom by a click or Enter, arrow keys, search. */
(() => {
const tree = document.querySelector('.icicle');
if (!tree) return;
const boxes = [...tree.querySelectorAll('foreignObject')].map(node => ({
	node, text: node.firstElementChild, from: parseFloat(node.getAttribute('x')),
	wide: parseFloat(node.getAttribute('width')), row: parseInt(node.getAttribute('y'), 10) / 24,
}));
const details = document.createElement('p'), found = document.createElement('span');
const tools = document.createElement('div'), all = button(['All'], () => show(boxes[0]));
let current = boxes[0];

const inside = (box, of) => box.from >= of.from - 0.005 && box.from + box.wide <= of.from + of.wide + 0.005;
function show(of) {
	for (const box of boxes) {
		const above = box.row < of.row && inside(of, box), below = box.row >= of.row && inside(box, of);
		box.node.setAttribute('visibility', above || below ? 'visible' : 'hidden');
		box.text.hidden = !(above || below);
		box.node.setAttribute('x', `${above ? 0 : (box.from - of.from) / of.wide * 100}%`);
		box.node.setAttribute('width', `${above ? 100 : box.wide / of.wide * 100}%`);
	}
	tree.dataset.shown = of.text.title;
}
function go(box) {
	if (!box) return;
	current.text.tabIndex = -1;
	current = box;
	box.text.tabIndex = 0;
	box.text.focus({ preventScroll: true });
	details.textContent = box.text.title;
}
const shown = box => !box.text.hidden;
const row = number => boxes.filter(box => box.row === number && shown(box));
function sibling(by) {
	const list = row(current.row).sort((a, b) => a.from - b.from);
	return list[list.indexOf(current) + by];
}
const keys = {
	ArrowUp: () => row(current.row - 1).find(box => inside(current, box)),
	ArrowDown: () => row(current.row + 1).find(box => inside(box, current)),
	ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1),
	Enter: () => (show(current), current), ' ': () => (show(current), current),
	Escape: () => (show(boxes[0]), current), Home: () => (show(boxes[0]), boxes[0]),
};
tree.setAttribute('role', 'tree');
for (const box of boxes) {
	box.text.setAttribute('role', 'treeitem');
	box.text.setAttribute('aria-level', box.row + 1);
	box.text.setAttribute('aria-label', box.text.title);
	box.text.tabIndex = box === current ? 0 : -1;
	box.text.addEventListener('click', () => { show(box); go(box); });
}
tree.addEventListener('keydown', event => {
	if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
	event.preventDefault();
	go(keys[event.key]());
});
const search = searchField('Search functions', 'Search functions', text => {
	const outer = [];
	for (const box of boxes) {
		const hit = text !== '' && box.text.title.toLowerCase().includes(text);
		box.text.classList.toggle('hit', hit);
		/* A recursive function counts once. */
		if (hit && !outer.some(one => inside(box, one))) outer.push(box);
	}
	found.textContent = text === '' ? '' : `${outer.reduce((sum, box) => sum + box.wide, 0).toFixed(1)} % of all samples`;
});
all.setAttribute('aria-label', 'Show all call chains');
found.className = details.className = 'soft';
found.setAttribute('role', 'status');
details.setAttribute('role', 'status');
details.textContent = 'A click or Enter shows a function alone; arrow keys move.';
tools.className = 'tools';
tools.append(all, search, found);
tree.before(tools);
tree.after(details);
show(boxes[0]);
})();

/* Sorts tables by any column and filters them; folded rows take part. */
(() => {
const OPEN = 20, FILTER_LEAST = 8;

/* Figures have their number as data; texts are compared as texts, and n/a is always last. */
function order(a, b, down) {
	const [x, y] = [a, b].map(cell => cell.dataset.n);
	if (a.className === 'text') return (down ? 1 : -1) * b.textContent.localeCompare(a.textContent);
	if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
	return down ? y - x : x - y;
}

function enhance(table) {
	const next = table.parentElement.nextElementSibling;
	const more = next && next.matches('details.more') ? next : null;
	const tables = more ? [table, more.querySelector('table')] : [table];
	const rows = tables.flatMap(one => [...one.tBodies[0].rows]);
	if (rows.length < 3) return;

	function place() {
		let used = 0;
		for (const row of rows) {
			(used < OPEN || !more ? table : tables[1]).tBodies[0].append(row);
			used += !row.hidden;
		}
	}
	function sort(column, head) {
		const down = head.ariaSort !== 'descending';
		rows.sort((a, b) => order(a.cells[column], b.cells[column], down));
		for (const one of tables)
			[...one.tHead.rows[0].cells].forEach((cell, at) => {
				cell.removeAttribute('aria-sort');
				if (at === column) cell.ariaSort = down ? 'descending' : 'ascending';
			});
		place();
	}
	function filter(text) {
		for (const row of rows)
			row.hidden = ![...row.cells].some(cell => cell.textContent.toLowerCase().includes(text));
		if (more && text) more.open = true;
		place();
	}

	for (const one of tables)
		[...one.tHead.rows[0].cells].forEach((cell, column) => {
			if (!cell.textContent) return;
			cell.append(button([...cell.childNodes], () => sort(column, cell)));
		});
	if (rows.length < FILTER_LEAST) return;
	const input = searchField('Filter rows', 'Filter rows by text', filter);
	input.className = 'filter';
	table.parentElement.before(input);
}

document.querySelectorAll('section table:has(thead):not(.comparison table, .code)').forEach(table => {
	if (!table.closest('details.more')) enhance(table);
});

/* Opens the folded part that a link leads into. */
function unfold() {
	let node = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
	if (!node) return;
	const target = node;
	for (; node; node = node.parentElement.closest('details'))
		if (node.matches('details')) node.open = true;
	target.scrollIntoView();
}
addEventListener('hashchange', unfold);
unfold();
})();
