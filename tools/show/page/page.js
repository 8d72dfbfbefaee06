'use strict';

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
			const button = document.createElement('button');
			button.type = 'button';
			button.append(...cell.childNodes);
			button.addEventListener('click', () => sort(column, cell));
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
