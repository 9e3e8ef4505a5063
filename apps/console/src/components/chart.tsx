import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatTime } from '../format/time.js';
import { onTheme } from '../shell/theme.js';

export interface Series {
  label: string;
  values: readonly (number | null)[];
  /** A custom property of the style sheet, such as `--chart-1`. */
  color: string;
}

interface ChartProps {
  title: string;
  /** What a reader who does not see the chart needs to know. */
  summary: string;
  /** Unix seconds, ascending. */
  times: readonly number[];
  series: readonly Series[];
  isBars?: boolean;
  format: (value: number) => string;
}

const height = 220;
const daySeconds = 86_400;

/** A chart over time, drawn by uPlot. The table beside it has the exact figures. */
export function Chart({ title, summary, times, series, isBars, format }: ChartProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);
  const data: uPlot.AlignedData = [[...times], ...series.map(({ values }) => [...values])];

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const style = getComputedStyle(element);
    const options = chartOptions({ width: element.clientWidth, series, isBars: isBars === true, format, style });
    const created = new uPlot(options, data, element);
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
    };
  }, [isBars, theme]);
  // New figures keep the drawing, and with it the figures below the pointer.
  useEffect(() => plot.current?.setData(data), [times, series]);

  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <p class="visually-hidden">{summary}</p>
      <div ref={frame} aria-hidden="true" />
    </figure>
  );
}

interface ChartStyle {
  width: number;
  series: readonly Series[];
  isBars: boolean;
  format: (value: number) => string;
  style: CSSStyleDeclaration;
}

function chartOptions({ width, series, isBars, format, style }: ChartStyle): uPlot.Options {
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const line = { stroke: color('--line'), width: 1 };
  const axis = { stroke: color('--text-weak'), grid: line, ticks: line };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  const timeText = (seconds: number): string => formatTime(new Date(seconds * 1000).toISOString());
  // One bar for each day, so that only its date matters.
  const tickText = (seconds: number): string =>
    isBars ? timeText(seconds).slice(5, 10) : timeText(seconds).slice(11, 16);
  return {
    width,
    height,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { range: (_plot, min, max) => (isBars ? [min - daySeconds / 2, max + daySeconds / 2] : [min, max]) },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        ...(isBars ? { incrs: [1, 2, 7, 14, 28, 56, 112].map((days) => days * daySeconds) } : {}),
        size: 32,
        values: (_plot, ticks) => ticks.map(tickText),
      },
      { ...axis, size: widthOf, values: (_plot, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      { label: 'Time', value: (_plot, seconds: number | null) => (seconds === null ? '–' : timeText(seconds)) },
      ...series.map(({ label, color: name }): uPlot.Series => ({
        label,
        stroke: color(name),
        fill: isBars ? color(name) : undefined,
        width: isBars ? 0 : 2,
        paths: isBars ? bars : undefined,
        points: { show: false },
        value: (_plot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
  };
}

/** The width in pixels that the labels of an axis need. */
function widthOf(_plot: uPlot, labels: string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map(({ length }) => length));
  return 24 + longest * 7;
}
