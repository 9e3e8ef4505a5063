import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
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

/** A chart over time, drawn by uPlot. The table beside it has the exact figures. */
export function Chart({ title, summary, times, series, isBars, format }: ChartProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => onTheme(() => setTheme((count) => count + 1)), []);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      chartOptions({
        width: element.clientWidth,
        series,
        isBars: isBars === true,
        format,
        style: getComputedStyle(element),
      }),
      [[...times], ...series.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, series, isBars, theme]);

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
  const axis = { stroke: color('--text-weak'), grid: { stroke: color('--line') }, ticks: { stroke: color('--line') } };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  return {
    width,
    height,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [axis, { ...axis, size: 70, values: (_plot, ticks) => ticks.map((tick) => format(tick)) }],
    series: [
      {},
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
