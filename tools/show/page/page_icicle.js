'use strict';
/* The chart of call chains: zoom by a click or Enter, arrow keys, search. */
(() => {
const tree = document.querySelector('.icicle');
if (!tree) return;
const boxes = [...tree.querySelectorAll('foreignObject')].map(node => ({
	node, text: node.firstElementChild, from: parseFloat(node.getAttribute('x')),
	wide: parseFloat(node.getAttribute('width')), row: parseInt(node.getAttribute('y'), 10) / 24,
}));
const details = document.createElement('p'), search = document.createElement('input');
const all = document.createElement('button'), found = document.createElement('span');
const tools = document.createElement('div');
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
search.type = 'search';
search.placeholder = 'Search functions';
search.setAttribute('aria-label', 'Search functions');
search.addEventListener('input', () => {
	const text = search.value.trim().toLowerCase(), outer = [];
	for (const box of boxes) {
		const hit = text !== '' && box.text.title.toLowerCase().includes(text);
		box.text.classList.toggle('hit', hit);
		/* A recursive function counts once. */
		if (hit && !outer.some(one => inside(box, one))) outer.push(box);
	}
	found.textContent = text === '' ? '' : `${outer.reduce((sum, box) => sum + box.wide, 0).toFixed(1)} % of all samples`;
});
all.type = 'button';
all.textContent = 'All';
all.setAttribute('aria-label', 'Show all call chains');
all.addEventListener('click', () => show(boxes[0]));
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
