'use strict';
/* Sorts tables by any column and filters them; folded rows take part. */
(() => {
const OPEN = 15, FILTER_LEAST = 8;
const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15,
	KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, '%': 1 };

/* Returns "4 200", "12.3 ms" and "31.5 GB" as numbers, other text unchanged. */
function valueOf(text) {
	const found = /^([\d ]*\d(?:\.\d+)?) ?([a-zA-Z%]*)$/.exec(text.trim());
	if (!found || (found[2] && !UNITS[found[2]])) return text.trim();
	return parseFloat(found[1].replaceAll(' ', '')) * (UNITS[found[2]] || 1);
}
function order(a, b) {
	const numbers = (typeof b === 'number') - (typeof a === 'number');
	return numbers || (typeof a === 'number' ? a - b : a.localeCompare(b));
}

/* A row without a name stays below its predecessor, as the second kind of copies of a site. */
function groupsOf(rows) {
	const groups = [];
	for (const row of rows)
		if (groups.length && row.cells[0].textContent === '') groups[groups.length - 1].push(row);
		else groups.push([row]);
	return groups;
}

function enhance(table) {
	const next = table.parentElement.nextElementSibling;
	const more = next && next.matches('details.more') ? next : null;
	const tables = more ? [table, more.querySelector('table')] : [table];
	const groups = groupsOf(tables.flatMap(one => [...one.tBodies[0].rows]));
	if (groups.length < 3) return;

	function place() {
		let used = 0;
		for (const group of groups) {
			const shown = !group[0].hidden;
			(used < OPEN || !more ? table : tables[1]).tBodies[0].append(...group);
			used += shown ? group.length : 0;
		}
	}
	function sort(column, button) {
		const head = button.closest('th'), down = head.ariaSort !== 'descending';
		groups.sort(([a], [b]) => {
			const [x, y] = [a, b].map(row => valueOf(row.cells[column].textContent));
			/* Unknown figures are last in both orders. */
			return typeof x !== typeof y ? order(x, y) : down ? order(y, x) : order(x, y);
		});
		for (const one of tables)
			[...one.tHead.rows[0].cells].forEach((cell, at) => {
				cell.removeAttribute('aria-sort');
				if (at === column) cell.ariaSort = down ? 'descending' : 'ascending';
			});
		place();
	}
	function filter(text) {
		for (const group of groups) {
			const shown = group.some(row => row.textContent.toLowerCase().includes(text));
			group.forEach(row => { row.hidden = !shown; });
		}
		if (more && text) more.open = true;
		place();
	}

	for (const one of tables)
		[...one.tHead.rows[0].cells].forEach((cell, column) => {
			const button = document.createElement('button');
			button.type = 'button';
			button.append(...cell.childNodes);
			button.addEventListener('click', () => sort(column, button));
			cell.append(button);
		});
	if (groups.length < FILTER_LEAST) return;
	const input = document.createElement('input');
	input.type = 'search';
	input.className = 'filter';
	input.placeholder = 'Filter rows';
	input.setAttribute('aria-label', 'Filter rows by text');
	input.addEventListener('input', () => filter(input.value.trim().toLowerCase()));
	table.parentElement.before(input);
}

document.querySelectorAll('section table:not(.comparison table, .code)').forEach(table => {
	if (!table.closest('details.more')) enhance(table);
});

/* Dragging over sizes in the chart of call sites shows only the rows of those sites. */
function brush(chart) {
	const sites = document.querySelector('#sites');
	const marks = [...chart.querySelectorAll('a')].map(link => ({
		id: link.getAttribute('href').slice(1), x: +link.querySelector('circle').getAttribute('cx') }));
	const shade = document.createElementNS(chart.namespaceURI, 'rect'), all = document.createElement('button');
	let from = null;
	const xOf = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(
		chart.getScreenCTM().inverse()).x;
	const span = event => [from, xOf(event)].sort((a, b) => a - b);
	function keep(shown) {
		let last = true;
		for (const row of sites.querySelectorAll('tbody tr')) {
			last = row.id ? shown(row.id) : last;
			row.hidden = !last;
		}
	}
	shade.setAttribute('class', 'brush');
	shade.setAttribute('y', 14);
	shade.setAttribute('height', 162);
	all.type = 'button';
	all.textContent = 'Show all call sites';
	all.hidden = true;
	all.addEventListener('click', () => {
		keep(() => true);
		all.hidden = true;
		shade.remove();
	});
	chart.addEventListener('pointerdown', event => {
		if (event.button === 0 && !event.target.closest('a')) from = xOf(event);
	});
	chart.addEventListener('pointermove', event => {
		if (from === null) return;
		const [left, right] = span(event);
		shade.setAttribute('x', left);
		shade.setAttribute('width', right - left);
		chart.append(shade);
	});
	addEventListener('pointerup', event => {
		if (from === null) return;
		const [left, right] = span(event);
		from = null;
		if (right - left < 4) {
			all.click();
			return;
		}
		const kept = new Set(marks.filter(mark => mark.x >= left && mark.x <= right).map(mark => mark.id));
		keep(id => kept.has(id));
		all.hidden = false;
	});
	chart.after(all);
}
if (document.querySelector('#sites')) document.querySelectorAll('.brushed').forEach(brush);

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
