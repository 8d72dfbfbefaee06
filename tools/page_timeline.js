'use strict';
/* Draws the data of html_timeline_data.c as a timeline that can be zoomed and searched. */
(() => {
const source = document.getElementById('timeline-data');
if (!source) return;
const data = JSON.parse(source.textContent);
const ROW = 20, LEAST_NS = 20, ARROW_PIXELS = 12;
const STATES = [['both', 'overlap'], ['kernels', 'kernels'], ['transfers', 'transfers'],
	['startup', 'CUDA start-up'], ['calls', 'CUDA calls'], ['host', 'host code']];
const KERNELS = 0, TRANSFERS = 1, STARTUP = 2, CALLS = 3;

const rows = data.rows.map(row => {
	const count = row.events.length / 3;
	const made = { name: row.name, kind: row.kind, subtrack: row.subtrack, count, first: 0,
		start: new Float64Array(count), end: new Float64Array(count), what: new Int32Array(count) };
	for (let i = 0, at = 0; i < count; i++) {
		at += row.events[3 * i];
		made.start[i] = at;
		made.end[i] = at + row.events[3 * i + 1];
		made.what[i] = row.events[3 * i + 2];
	}
	return made;
});
rows.reduce((number, row) => (row.first = number) + row.count, 0);

/* Finds an event by its number in the data. */
function eventOf(number) {
	const row = rows.findLastIndex(one => one.first <= number && one.count > 0);
	return { row, at: number - rows[row].first };
}
const arrows = [];
for (let i = 0; i < data.flows.length; i += 2)
	arrows.push({ to: eventOf(data.flows[i]), from: eventOf(data.flows[i + 1]) });
const same = (a, b) => a && b && a.row === b.row && a.at === b.at;

function threeDigits(value, unit) {
	return (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0)) +
		' ' + unit;
}
function scaled(value, units) {
	for (const [size, unit] of units)
		if (value >= size * 0.9995) return threeDigits(value / size, unit);
	return value.toFixed(0) + ' ' + units[units.length - 1][2];
}
const time = ns => scaled(ns, [[1e9, 's'], [1e6, 'ms'], [1e3, 'us', 'ns']]);
const bytes = count => scaled(count, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB', 'B']]);

/* Returns the first index at which a sorted list is above the value. */
function above(list, value) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle] > value) high = middle;
		else low = middle + 1;
	}
	return low;
}

/* The states of the run in order: where each begins, and the sum of each state's time up to there. */
let states = null;
/* Returns the times at which events of each class begin, and at which they end. */
function beginsAndEnds() {
	const classes = { kernels: KERNELS, h2d: TRANSFERS, d2h: TRANSFERS };
	const lists = [[[], []], [[], []], [[], []], [[], []]];
	for (const row of rows)
		for (let i = 0; i < row.count; i++) {
			const of = row.kind !== 'calls' ? classes[row.kind] : data.what[row.what[i]][3] ? STARTUP : CALLS;
			if (of === undefined) continue;
			lists[of][0].push(row.start[i]);
			lists[of][1].push(row.end[i]);
		}
	return lists.map(pair => pair.map(list => Float64Array.from(list).sort()));
}
function findStates() {
	const lists = beginsAndEnds(), next = lists.map(() => [0, 0]), sums = STATES.map(() => 0);
	states = { at: [], state: [], sums: [] };
	for (let now = 0; now < data.end;) {
		let then = data.end;
		const on = lists.map((pair, of) => {
			pair.forEach((list, end) => {
				while (list[next[of][end]] <= now) next[of][end]++;
				if (list[next[of][end]] < then) then = list[next[of][end]];
			});
			return next[of][0] > next[of][1];
		});
		const state = on[KERNELS] && on[TRANSFERS] ? 0 : on.includes(true) ? on.indexOf(true) + 1 : 5;
		states.at.push(now);
		states.state.push(state);
		states.sums.push([...sums]);
		sums[state] += then - now;
		now = then;
	}
}
function sumsAt(now) {
	const i = above(states.at, now) - 1, sums = [...states.sums[i]];
	sums[states.state[i]] += now - states.at[i];
	return sums;
}

function element(tag, more, ...inside) {
	const made = Object.assign(document.createElement(tag), more);
	made.append(...inside);
	return made;
}
function swatch(kind) {
	const svg = document.createElementNS('http:\u002f/www.w3.org/2000/svg', 'svg');
	const rect = document.createElementNS(svg.namespaceURI, 'rect');
	svg.setAttribute('viewBox', '0 0 10 10');
	svg.setAttribute('aria-hidden', 'true');
	rect.setAttribute('class', kind);
	rect.setAttribute('width', '10');
	rect.setAttribute('height', '10');
	svg.append(rect);
	return svg;
}

const box = document.querySelector('#timeline .timeline'), subtracks = box.querySelector('.subtracks');
const ticks = [...subtracks.querySelectorAll('.ticks small')];
const canvas = element('canvas', { tabIndex: 0 });
canvas.setAttribute('role', 'application');
canvas.setAttribute('aria-label', 'Timeline. Plus and minus zoom, left and right move, up and down ' +
	'choose a row, n and p the next and previous event, Enter its call or copy, Home shows all.');
const details = element('div', { className: 'details' });
details.setAttribute('role', 'status');
const shares = element('ul', { className: 'legend' });
shares.setAttribute('aria-label', 'States of the shown part');
const search = element('input', { type: 'search', placeholder: 'Search events' });
search.setAttribute('aria-label', 'Search events');
const found = element('span', { className: 'soft' });
found.setAttribute('role', 'status');
const context = canvas.getContext('2d');
let from = 0, to = data.end, width = 1, chosen = null, row = 0, drag = null, hits = null, colors = {};

function readColors() {
	const style = getComputedStyle(document.documentElement);
	for (const name of ['card', 'text', 'soft', 'host', 'calls', 'kernels', 'h2d', 'd2h'])
		colors[name] = style.getPropertyValue('--' + name).trim();
	colors.range = colors.own = colors.soft;
}
/* Returns the one of black and white that has more contrast. */
function ink(color) {
	const [r, g, b] = [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16) / 255).map(
		part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}
const xOf = ns => (ns - from) / (to - from) * width;
const nsOf = x => from + x / width * (to - from);

/* Of the events that are narrower than a pixel, one is drawn for each pixel. */
function drawRow(line, y, wanted) {
	const scale = width / (to - from), start = line.start, end = line.end;
	let last = -1;
	for (let i = above(end, from); i < line.count && start[i] < to; i++) {
		if (wanted && !hits[line.what[i]]) continue;
		const left = (start[i] - from) * scale, right = (end[i] - from) * scale;
		if (right < last) continue;
		const x = Math.max(left, last, 0), wide = Math.max(Math.min(right, width) - x, 1);
		context.fillRect(x, y + 2, wide, ROW - 4);
		last = Math.ceil(x + wide);
	}
}
function drawNames(line, y) {
	const scale = width / (to - from);
	context.fillStyle = ink(colors[line.kind]);
	for (let i = above(line.end, from), drawn = 0; i < line.count && line.start[i] < to &&
			drawn < 200; i++) {
		const x = Math.max((line.start[i] - from) * scale, 0);
		const wide = Math.min((line.end[i] - from) * scale, width) - x;
		if (wide < 40) continue;
		const most = Math.floor((wide - 6) / 6.5), name = data.what[line.what[i]][0];
		context.fillText(name.length > most ? name.slice(0, most - 1) + '\u2026' : name, x + 3, y + 14);
		drawn++;
	}
}
function drawGaps(line, y) {
	if (!line.count) return;
	const left = Math.max(xOf(line.start[0]), 0), right = Math.min(xOf(line.end[line.count - 1]), width);
	context.fillStyle = colors.host;
	if (right > left) context.fillRect(left, y + ROW / 2 - 2, right - left, 4);
}
function drawArrow(arrow) {
	const x0 = xOf(rows[arrow.from.row].start[arrow.from.at]), y0 = arrow.from.row * ROW + ROW / 2;
	const x1 = xOf(rows[arrow.to.row].start[arrow.to.at]), y1 = arrow.to.row * ROW + ROW / 2;
	const down = y1 > y0 ? 1 : -1;
	context.beginPath();
	context.moveTo(x0, y0);
	context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
	context.moveTo(x1 - 3, y1 - 5 * down);
	context.lineTo(x1, y1);
	context.lineTo(x1 + 3, y1 - 5 * down);
	context.stroke();
}
function drawArrows() {
	const seen = [], most = width / ARROW_PIXELS;
	for (const arrow of arrows) {
		if (rows[arrow.to.row].start[arrow.to.at] < from || rows[arrow.from.row].start[arrow.from.at] > to)
			continue;
		if (seen.push(arrow) > most) break;
	}
	context.strokeStyle = colors.text;
	context.lineWidth = 1;
	context.globalAlpha = 0.5;
	if (seen.length <= most) seen.forEach(drawArrow);
	context.globalAlpha = 1;
	context.lineWidth = 2;
	if (chosen) arrows.filter(arrow => same(arrow.to, chosen) || same(arrow.from, chosen)).forEach(drawArrow);
}
function drawChosen() {
	context.strokeStyle = colors.text;
	context.lineWidth = 2;
	if (chosen) {
		const x = xOf(rows[chosen.row].start[chosen.at]);
		context.strokeRect(x - 1, chosen.row * ROW + 1,
			Math.max(xOf(rows[chosen.row].end[chosen.at]) - x, 1) + 2, ROW - 2);
	}
	if (!drag || !drag.moved) return;
	context.globalAlpha = 0.25;
	context.fillStyle = colors.text;
	context.fillRect(Math.min(drag.x, drag.now), 0, Math.abs(drag.now - drag.x), rows.length * ROW);
	context.globalAlpha = 1;
}
let waiting = false;
function draw() {
	waiting = false;
	const ratio = window.devicePixelRatio || 1;
	width = Math.max(subtracks.clientWidth, 1);
	if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
	if (canvas.height !== Math.round(rows.length * ROW * ratio))
		canvas.height = Math.round(rows.length * ROW * ratio);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = '12px sans-serif';
	context.fillStyle = colors.card;
	context.fillRect(0, 0, width, rows.length * ROW);
	rows.forEach((line, i) => {
		if (line.kind === 'calls' && line.subtrack === 0) drawGaps(line, i * ROW);
		context.fillStyle = colors[line.kind];
		context.globalAlpha = hits ? 0.2 : 1;
		drawRow(line, i * ROW, false);
		context.globalAlpha = 1;
		if (hits) drawRow(line, i * ROW, true);
		drawNames(line, i * ROW);
	});
	drawArrows();
	drawChosen();
}
function redraw() {
	if (!waiting) requestAnimationFrame(draw);
	waiting = true;
}
function showShares() {
	if (!data.states) return;
	if (!states) findStates();
	const before = sumsAt(from), after = sumsAt(to), all = to - from;
	shares.replaceChildren(...STATES.map(([kind, name], i) => {
		const ns = after[i] - before[i];
		const made = element('li', {}, swatch(kind), name + ' ', element('b', {}, time(ns)),
			` ${(ns / all * 100).toFixed(1)} %`);
		made.dataset.ns = ns;
		made.hidden = ns <= 0;
		return made;
	}), element('li', {}, 'shown ', element('b', {}, time(all))));
}
function look(least, most) {
	const span = Math.min(Math.max(Math.round(most - least), LEAST_NS), data.end);
	from = Math.min(Math.max(Math.round(least), 0), data.end - span);
	to = from + span;
	canvas.dataset.from = from;
	canvas.dataset.to = to;
	ticks.forEach((tick, i) => { tick.textContent = from + i === 0 ? '0' : time(from + span * i / 4); });
	showShares();
	redraw();
}
function zoom(factor, x = width / 2) {
	const at = nsOf(x), span = Math.min(Math.max((to - from) * factor, LEAST_NS), data.end);
	look(at - span * x / width, at - span * x / width + span);
}
const move = part => look(from + (to - from) * part, to + (to - from) * part);

function placeOf(what) {
	return what[2] >= 0 ? `, called from ${data.sites[what[2]]}` : '';
}
function describe(event) {
	const line = rows[event.row], what = data.what[line.what[event.at]];
	const ns = line.end[event.at] - line.start[event.at];
	const rate = what[1] > 0 && ns > 0 && (line.kind === 'h2d' || line.kind === 'd2h')
		? ` (${(what[1] / ns).toFixed(2)} GB/s)` : '';
	return `${what[0]}: ${time(ns)}${what[1] >= 0 ? ', ' + bytes(what[1]) : ''}${rate}, begins at ` +
		`${time(line.start[event.at])}; ${line.name}${placeOf(what)}.`;
}
function describeGap(line, ns) {
	const after = above(line.start, ns), before = after - 1;
	if (line.kind !== 'calls' || before < 0 || after >= line.count) return '';
	const [a, b] = [before, after].map(at => data.what[line.what[at]]);
	return `Host code for ${time(line.start[after] - line.end[before])} between recorded calls: from ` +
		`${a[0]}${placeOf(a)}, to ${b[0]}${placeOf(b)}. ${line.name}.`;
}
function button(text, label, action) {
	const made = element('button', { type: 'button', onclick: action }, text);
	if (label) made.setAttribute('aria-label', label);
	return made;
}
function partner(event) {
	const arrow = arrows.find(one => same(one.from, event) || same(one.to, event));
	return arrow && (same(arrow.from, event) ? arrow.to : arrow.from);
}
function choose(event, bring) {
	chosen = event;
	row = event.row;
	const line = rows[event.row], start = line.start[event.at], end = line.end[event.at];
	const other = partner(event);
	details.replaceChildren(element('p', {}, describe(event)),
		button('Zoom to it', '', () => look(start - (end - start), end + (end - start))));
	if (other)
		details.append(button(line.kind === 'calls' ? 'Show its copy' : 'Show its call', '',
			() => choose(other, true)));
	if (bring && (end < from || start > to))
		look(start - (to - from) / 2, start + (to - from) / 2);
	redraw();
}
function clear(text) {
	chosen = null;
	details.replaceChildren(element('p', {}, text || 'Choose an event: click it, or press n.'));
	redraw();
}
function eventAt(x, y) {
	const at = Math.floor(y / ROW), line = rows[at];
	if (!line) return null;
	const near = 3 * (to - from) / width, ns = nsOf(x);
	let best = null, apart = near;
	for (let i = Math.max(above(line.end, ns - near) - 1, 0); i < line.count && line.start[i] <= ns + near; i++) {
		const away = Math.max(line.start[i] - ns, ns - line.end[i], 0);
		if (away <= apart && (best === null || away < apart)) [best, apart] = [i, away];
	}
	return best === null ? null : { row: at, at: best };
}
function step(by) {
	const line = rows[row];
	if (!line || !line.count) return;
	const at = chosen && chosen.row === row ? chosen.at + by
		: Math.min(above(line.end, from), line.count - 1);
	if (at >= 0 && at < line.count) choose({ row, at }, true);
}
function changeRow(by) {
	row = Math.min(Math.max(row + by, 0), rows.length - 1);
	clear(`Row ${rows[row].name}, ${rows[row].count} events. Press n for the first that is shown.`);
}
function follow() {
	const other = chosen && partner(chosen);
	if (other) choose(other, true);
}

const keys = {
	'+': () => zoom(0.5), '=': () => zoom(0.5), w: () => zoom(0.5), '-': () => zoom(2), s: () => zoom(2),
	a: () => move(-0.25), ArrowLeft: () => move(-0.25), d: () => move(0.25), ArrowRight: () => move(0.25),
	ArrowUp: () => changeRow(-1), ArrowDown: () => changeRow(1), n: () => step(1), p: () => step(-1),
	Enter: follow, Home: () => look(0, data.end), 0: () => look(0, data.end), Escape: () => clear(),
	'/': () => search.focus(),
};
canvas.addEventListener('keydown', event => {
	if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
	event.preventDefault();
	keys[event.key]();
});
canvas.addEventListener('wheel', event => {
	/* The wheel scrolls the page unless the picture has the focus. */
	if (document.activeElement !== canvas && !event.ctrlKey) return;
	event.preventDefault();
	if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / width);
	else zoom(2 ** (Math.max(-200, Math.min(200, event.deltaY)) / 200), event.offsetX);
}, { passive: false });
canvas.addEventListener('pointerdown', event => {
	if (event.button !== 0) return;
	canvas.focus({ preventScroll: true });
	canvas.setPointerCapture(event.pointerId);
	drag = { x: event.offsetX, y: event.offsetY, now: event.offsetX, moved: false };
});
canvas.addEventListener('pointermove', event => {
	if (!drag) return;
	drag.now = Math.min(Math.max(event.offsetX, 0), width);
	drag.moved = drag.moved || Math.abs(drag.now - drag.x) > 4;
	redraw();
});
canvas.addEventListener('pointerup', () => {
	const was = drag;
	drag = null;
	if (!was) return;
	if (was.moved) {
		look(nsOf(Math.min(was.x, was.now)), nsOf(Math.max(was.x, was.now)));
		return;
	}
	const event = eventAt(was.x, was.y), line = rows[Math.floor(was.y / ROW)];
	if (event) choose(event, false);
	else clear(line ? describeGap(line, nsOf(was.x)) : '');
});
canvas.addEventListener('pointercancel', () => { drag = null; redraw(); });

function showHits() {
	const text = search.value.trim().toLowerCase();
	hits = text ? data.what.map(what => what[0].toLowerCase().includes(text) ||
		(what[2] >= 0 && data.sites[what[2]].toLowerCase().includes(text))) : null;
	let count = 0, ns = 0;
	for (const line of hits ? rows : [])
		for (let i = 0; i < line.count; i++)
			if (hits[line.what[i]]) {
				count++;
				ns += line.end[i] - line.start[i];
			}
	found.textContent = hits ? `${count} events, ${time(ns)}` : '';
	redraw();
}
function nextHit() {
	if (!hits) return;
	const after = chosen ? rows[chosen.row].first + chosen.at : -1;
	let first = null;
	for (let i = 0; i < rows.length; i++)
		for (let at = 0; at < rows[i].count; at++) {
			if (!hits[rows[i].what[at]]) continue;
			first = first || { row: i, at };
			if (rows[i].first + at > after) return void choose({ row: i, at }, true);
		}
	if (first) choose(first, true);
}
search.addEventListener('input', showHits);
search.addEventListener('keydown', event => { if (event.key === 'Enter') nextHit(); });

box.before(element('div', { className: 'tools' },
	button('+', 'Zoom in', () => zoom(0.5)), button('\u2212', 'Zoom out', () => zoom(2)),
	button('\u25c0', 'Earlier', () => move(-0.25)), button('\u25b6', 'Later', () => move(0.25)),
	button('All', 'Show all', () => look(0, data.end)), search, button('Next', 'Next event found', nextHit),
	found));
box.after(shares, details, element('p', { className: 'soft' },
	'Drag over a part to zoom. After a click or with Ctrl, the wheel zooms, too. Keys: + \u2212 \u2190 \u2192 ' +
	'or W S A D, n and p, Enter, Home, /.'));
subtracks.prepend(canvas);
box.classList.add('live');
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); redraw(); });
new ResizeObserver(redraw).observe(subtracks);
readColors();
clear();
look(0, data.end);
})();
