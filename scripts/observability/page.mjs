// Renders a dashboard as a page: its panels in their layout, with current values from Prometheus.
import { drawGraph, escaped, formatValue } from './chart.mjs';

const columnWidth = 60;
const rowHeight = 34;
const gap = 6;

const style = `
  body { margin: 0; background: #f4f5f5; font: 13px sans-serif; color: #24292e; width: ${24 * columnWidth + 2 * gap}px; }
  h1 { font-size: 18px; margin: 0; padding: 12px; } h1 small { font-weight: normal; color: #6b7280; margin-left: 10px; }
  main { position: relative; }
  section { position: absolute; background: #fff; border: 1px solid #dcdfe3; border-radius: 2px; box-sizing: border-box; overflow: hidden; }
  section.row { background: none; border: 0; font-weight: bold; padding-top: 8px; }
  h2 { font-size: 13px; margin: 0; padding: 6px 8px 0; }
  .value { font-size: 34px; text-align: center; padding-top: 20px; }
  .small { font-size: 10px; fill: #6b7280; } .end { text-anchor: end; } .middle { text-anchor: middle; }
  .none { fill: #9aa0a6; text-anchor: middle; } .grid { stroke: #e6e8eb; }
`;
const colours = { green: '#299c46', orange: '#e0802d', red: '#e02f44' };

/**
 * `query(expression)` resolves to series of `{ labels, points }`. Resolves to the page, its height, and the titles of
 * panels without data.
 */
export async function dashboardPage(dashboard, { query, from, to }) {
  const empty = [];
  const sections = await Promise.all(
    dashboard.panels.map(async (panel) => {
      if (panel.type === 'row') return sectionOf(panel, escaped(panel.title), 'row');
      const series = (await Promise.all(panel.targets.map((target) => seriesOf(target, query)))).flat();
      if (series.length === 0) empty.push(panel.title);
      return sectionOf(panel, `<h2>${escaped(panel.title)}</h2>${contentOf(panel, { series, from, to })}`);
    }),
  );
  const bottom = Math.max(...dashboard.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const height = bottom * rowHeight + 60;
  const head = `<h1>${escaped(dashboard.title)}<small>${escaped(dashboard.description)}</small></h1>`;
  const body = `${head}<main>${sections.join('')}</main>`;
  return {
    html: `<!doctype html><meta charset="utf-8"><style>${style}</style>${body}`,
    width: 24 * columnWidth + 2 * gap,
    height,
    empty,
  };
}

async function seriesOf({ expr, legendFormat }, query) {
  // Variables select everything.
  const found = await query(expr.replaceAll(/\$(model|namespace|installation|__all)/g, '.*'));
  return found.map(({ labels, points }) => ({
    name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => labels[label] ?? '').trim(),
    points,
  }));
}

function contentOf(panel, { series, from, to }) {
  const { unit, thresholds, custom } = panel.fieldConfig.defaults;
  if (panel.type === 'timeseries') {
    const [width, height] = [panel.gridPos.w * columnWidth - 2 * gap, panel.gridPos.h * rowHeight - 34];
    return drawGraph({ width, height, unit, series, from, to, stacked: custom.stacking.mode === 'normal' });
  }
  const value = series[0]?.points.at(-1)?.[1] ?? NaN;
  const reached = thresholds.steps.filter((step) => step.value === null || value >= step.value);
  const colour = colours[reached.at(-1)?.color] ?? '#24292e';
  return `<div class="value" style="color:${colour}">${formatValue(value, unit)}</div>`;
}

function sectionOf({ gridPos: { x, y, w, h } }, content, name = '') {
  const place = `left:${x * columnWidth + gap}px;top:${y * rowHeight}px;width:${w * columnWidth - gap}px;height:${h * rowHeight - gap}px`;
  return `<section class="${name}" style="${place}">${content}</section>`;
}
