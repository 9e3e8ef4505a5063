// Building blocks of the dashboards: Grafana's JSON with this project's defaults.

const datasource = { type: 'prometheus', uid: '${datasource}' };

const scope = 'namespace=~"$namespace", installation=~"$installation"';

/** Labels that look like metrics. */
const labelNames = 'gen_ai_(?:operation_name|provider_name|request_model|token_type)\\b';
const selector = new RegExp(`(?<![\\w:])((?!${labelNames})(?:sluice|gen_ai|nodejs|process)_[a-z0-9_]+)(\\{)?`, 'g');

/** Limits every selector of an expression to the chosen installation. */
export function withinInstallation(expression) {
  return expression
    .replaceAll(selector, (_all, metric, brace) => `${metric}{${scope}${brace === undefined ? '}' : ', '}`)
    .replaceAll(/, \}/g, '}');
}

/** @param {string[]} queries each `legend | expression` */
function targetsOf(queries) {
  return queries.map((query, index) => {
    const cut = query.indexOf(' | ');
    return {
      datasource,
      refId: String.fromCharCode(65 + index),
      legendFormat: query.slice(0, cut),
      expr: withinInstallation(query.slice(cut + 3).replaceAll(/\s+/g, ' ')),
      range: true,
    };
  });
}

/** Time series panel. `unit` is one of Grafana's: `s`, `bytes`, `reqps`, `percentunit`, `short`, `currencyUSD`. */
export function graph(title, unit, queries, { about = '', width = 8, stacked = false } = {}) {
  return {
    type: 'timeseries',
    title,
    description: about,
    datasource,
    width,
    height: 8,
    targets: targetsOf(queries),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        custom: { fillOpacity: stacked ? 30 : 8, showPoints: 'never', stacking: { mode: stacked ? 'normal' : 'none' } },
      },
      overrides: [],
    },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  };
}

/** Stat panel with the current value. `steps`: the colour from each value on. */
export function figure(title, unit, query, { about = '', width = 4, steps = [['green', null]] } = {}) {
  return {
    type: 'stat',
    title,
    description: about,
    datasource,
    width,
    height: 4,
    targets: targetsOf([query]),
    fieldConfig: {
      defaults: {
        unit,
        thresholds: { mode: 'absolute', steps: steps.map(([color, value]) => ({ color, value })) },
      },
      overrides: [],
    },
    options: { colorMode: 'value', graphMode: 'area', reduceOptions: { calcs: ['lastNotNull'] } },
  };
}

export function heading(title) {
  return { type: 'row', title, width: 24, height: 1, collapsed: false, panels: [] };
}

/** Colours of a value that must be zero. */
export const zeroIsGood = [
  ['green', null],
  ['red', 1],
];

/** Quantile of a histogram over 5 minutes, grouped by labels. */
export function quantile(share, metric, by = '', selector = '') {
  const labels = ['le', by].filter(Boolean).join(', ');
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${metric}_bucket{${selector}}[5m])))`;
}

/** Dashboard; panels flow from left to right in the given order. */
export function dashboard({ uid, title, about, panels, models = false }) {
  return {
    uid,
    title,
    description: about,
    tags: ['sluice'],
    schemaVersion: 39,
    version: 1,
    editable: false,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'utc',
    links: [{ type: 'dashboards', title: 'Sluice', tags: ['sluice'], asDropdown: true, keepTime: true }],
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        namespaceVariable,
        installationVariable,
        ...(models ? [modelVariable] : []),
      ],
    },
    panels: placed(panels),
  };
}

/** One installation at a time: sums over several would mix them. Outside of Kubernetes there is no namespace. */
const single = { type: 'query', datasource, includeAll: false, multi: false, refresh: 2, sort: 1 };
const namespaceVariable = {
  name: 'namespace',
  label: 'Namespace',
  ...single,
  query: { query: 'label_values(sluice_ready, namespace)', refId: 'namespace' },
};
const installationVariable = {
  name: 'installation',
  label: 'Installation',
  ...single,
  query: { query: 'label_values(sluice_ready{namespace=~"$namespace"}, installation)', refId: 'installation' },
};

const modelVariable = {
  name: 'model',
  label: 'Model',
  type: 'query',
  datasource,
  query: { query: `label_values(sluice_model_workers{${scope}}, model)`, refId: 'model' },
  includeAll: true,
  multi: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
  refresh: 2,
  sort: 1,
};

function placed(panels) {
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  return panels.map(({ width, height, ...panel }, index) => {
    if (x + width > 24) {
      x = 0;
      y += rowHeight;
      rowHeight = 0;
    }
    const gridPos = { x, y, w: width, h: height };
    x += width;
    rowHeight = Math.max(rowHeight, height);
    return { id: index + 1, ...panel, gridPos };
  });
}
