'use strict';
/* Sorts tables by any column and filters them; folded rows take part. */
(() => {
const OPEN = 15, FILTER_LEAST = 8;

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
	function sort(column, button) {
		const head = button.closest('th'), down = head.ariaSort !== 'descending';
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
			const button = document.createElement('button');
			button.type = 'button';
			button.append(...cell.childNodes);
			button.addEventListener('click', () => sort(column, button));
			cell.append(button);
		});
	if (rows.length < FILTER_LEAST) return;
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
		for (const row of sites.querySelectorAll('tbody tr')) row.hidden = !shown(row.id || row.dataset.of);
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
