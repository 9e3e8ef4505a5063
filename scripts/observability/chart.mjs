// Renders a panel as SVG, to preview a dashboard without Grafana.

const palette = [
  '#3274d9',
  '#299c46',
  '#e0802d',
  '#a352cc',
  '#e02f44',
  '#37872d',
  '#1f60c4',
  '#b877d9',
  '#c4162a',
  '#8ab8ff',
];
const margin = { left: 52, right: 10, top: 8, bottom: 20 };
const lineHeight = 14;

/** Formats a number in a unit of the dashboards. */
export function formatValue(value, unit) {
  if (!Number.isFinite(value)) return '–';
  if (unit === 'percentunit') return `${plain(100 * value)} %`;
  if (unit === 'bytes') return scaled(value, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
  if (unit === 'currencyUSD') return `$${plain(value)}`;
  if (unit === 'reqps') return `${plain(value)}/s`;
  if (unit === 's') return Math.abs(value) < 1 && value !== 0 ? `${plain(1_000 * value)} ms` : `${plain(value)} s`;
  return plain(value);
}

function scaled(value, names, step) {
  const power = value === 0 ? 0 : Math.min(names.length - 1, Math.floor(Math.log(Math.abs(value)) / Math.log(step)));
  return `${plain(value / step ** Math.max(0, power))} ${names[Math.max(0, power)]}`;
}

function plain(value) {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(2)));
}

export function escaped(text) {
  return String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A time series graph. `series`: `{ name, points: [[seconds, value], …] }`; `from` and `to` in seconds. */
export function drawGraph({ width, height, unit, series, from, to, stacked }) {
  const legendRows = Math.ceil(series.length / 2);
  const shownRows = Math.min(4, legendRows);
  const bottom = height - margin.bottom - shownRows * lineHeight;
  const layers = stacked ? stack(series) : series.map(({ points }) => points.map(([at, value]) => [at, 0, value]));
  const values = layers.flatMap((points) => points.map(([, , value]) => value)).filter(Number.isFinite);
  const top = niceTop(Math.max(0, ...values));
  const x = (at) => margin.left + ((at - from) / (to - from)) * (width - margin.left - margin.right);
  const y = (value) => bottom - (value / top) * (bottom - margin.top);
  const parts = gridLines({ width, top, unit, y }).concat(timeLabels({ from, to, bottom, x }));
  layers.forEach((points, place) =>
    parts.push(...layerOf(points, { x, y, colour: palette[place % palette.length], stacked })),
  );
  series.slice(0, shownRows * 2).forEach(({ name }, place) => {
    const [left, line] = [
      10 + (place % 2) * (width / 2),
      height - (shownRows - Math.floor(place / 2)) * lineHeight + 6,
    ];
    parts.push(`<rect x="${left}" y="${line - 5}" width="10" height="3" fill="${palette[place % palette.length]}"/>`);
    const most = Math.floor((width / 2 - 24) / 6);
    const text = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    parts.push(`<text x="${left + 14}" y="${line}" class="small">${escaped(text)}</text>`);
  });
  if (series.length === 0) parts.push(`<text x="${width / 2}" y="${bottom / 2}" class="none">No data</text>`);
  return `<svg width="${width}" height="${height}">${parts.join('')}</svg>`;
}

function gridLines({ width, top, unit, y }) {
  return [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const line = y(share * top);
    return [
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${line}" y2="${line}" class="grid"/>`,
      `<text x="${margin.left - 4}" y="${line + 3}" class="small end">${formatValue(share * top, unit)}</text>`,
    ];
  });
}

function timeLabels({ from, to, bottom, x }) {
  return [0.1, 0.5, 0.9].map((share) => {
    const at = from + share * (to - from);
    const text = new Date(1_000 * at).toISOString().slice(11, 19);
    return `<text x="${x(at)}" y="${bottom + 14}" class="small middle">${text}</text>`;
  });
}

function layerOf(points, { x, y, colour, stacked }) {
  const known = points.filter(([, , value]) => Number.isFinite(value));
  if (known.length === 0) return [];
  const upper = known.map(([at, , value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  const lower = known.map(([at, base]) => `${x(at).toFixed(1)},${y(base).toFixed(1)}`).reverse();
  const opacity = stacked ? 0.3 : 0.08;
  return [
    `<polygon points="${[...upper, ...lower].join(' ')}" fill="${colour}" opacity="${opacity}"/>`,
    `<polyline points="${upper.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
  ];
}

/** Stacks the series, at the times that all of them have. */
function stack(series) {
  const sums = new Map();
  return series.map(({ points }) =>
    points.map(([at, value]) => {
      const base = sums.get(at) ?? 0;
      const upper = base + (Number.isFinite(value) ? value : 0);
      sums.set(at, upper);
      return [at, base, upper];
    }),
  );
}

/** The next of 1, 2, 5 times a power of ten. */
function niceTop(most) {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 5].find((step) => step * power >= most) ?? 10) * power;
}
