import { slugOf } from '../slug.mjs';
import { prose } from './cells.mjs';
import { describeSchema, namesIn, table, typeOf } from './schemas.mjs';

/* The reference of the API from its OpenAPI document: a page for each tag, and one for the schemas that several use. */

const sharedPage = 'shared-schemas';

/** Returns the pages as Markdown, by their addresses below `api/`, in the order of the document. */
export function buildReference(document) {
  const { schemas } = document.components;
  const groups = groupByTag(document);
  const pageOf = assignSchemas(groups, schemas);
  const pages = new Map([['index', overview(document, groups)]]);
  for (const group of groups) pages.set(group.page, describeGroup({ group, document, pageOf }));
  const shared = Object.keys(schemas).filter((name) => pageOf.get(name) === sharedPage);
  const title = '# Shared schemas\n\nSchemas that several pages of this reference use.';
  pages.set(sharedPage, [title, ...describeSchemas({ names: shared, schemas, pageOf, page: sharedPage })].join('\n\n'));
  return pages;
}

function groupByTag({ paths, tags }) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const groups = tags.map(({ name, description }) => ({
    name,
    description,
    page: slugOf(name),
    operations: operations.filter(({ operation }) => operation.tags?.[0] === name),
  }));
  const left = operations.filter(({ operation }) => !tags.some(({ name }) => name === operation.tags?.[0]));
  if (left.length > 0) throw new Error(`Operations without a known tag: ${left.map(({ path }) => path).join(', ')}`);
  return groups.filter((group) => group.operations.length > 0);
}

/** The page of every schema that is used: that of the only tag that does, or the shared one. */
function assignSchemas(groups, schemas) {
  const pageOf = new Map();
  for (const { page, operations } of groups) {
    for (const name of namesIn(operations, schemas)) pageOf.set(name, pageOf.has(name) ? sharedPage : page);
  }
  return pageOf;
}

function overview(document, groups) {
  const rows = groups.map(({ name, page, description }) => [`[${name}](./${page}.md)`, description]);
  const { description } = document.info;
  return [
    '# API reference',
    `${prose(description)} A path begins with \`${document.servers[0].url}\`, unless its page says otherwise.`,
    'Send the API key as `Authorization: Bearer slk_…`. Every running api serves the same reference at `/docs`.',
    'For generators of clients: [openapi.json](/openapi.json), [openapi.yaml](/openapi.yaml).',
    table(['Group', 'For'], rows),
    'The [API guide](../start/api.md) has the first requests, and [errors](../reference/errors.md) the codes.',
  ].join('\n\n');
}

function describeGroup({ group, document, pageOf }) {
  const link = linkFrom(group.page, pageOf);
  const { schemas } = document.components;
  const names = Object.keys(schemas).filter((name) => pageOf.get(name) === group.page);
  return [
    `# ${group.name}`,
    prose(group.description),
    ...group.operations.flatMap((entry) => describeOperation({ ...entry, document, link })),
    ...(names.length > 0
      ? ['## Schemas', ...describeSchemas({ names, schemas, pageOf, page: group.page, level: 3 })]
      : []),
  ].join('\n\n');
}

function describeSchemas({ names, schemas, pageOf, page, level = 2 }) {
  const link = linkFrom(page, pageOf);
  return names.flatMap((name) => {
    const { description } = schemas[name];
    return [
      `${'#'.repeat(level)} ${name}`,
      ...(description ? [prose(description)] : []),
      describeSchema(schemas[name], link),
    ];
  });
}

const linkFrom = (page, pageOf) => (name) =>
  `${pageOf.get(name) === page ? '' : `./${pageOf.get(name)}.md`}#${slugOf(name)}`;

function describeOperation({ path, method, operation, document, link }) {
  const server = (operation.servers ?? document.servers)[0].url;
  const security = operation.security ?? document.security;
  return [
    `## ${operation.summary ?? operation.operationId}`,
    `\`${method} ${server}${path}\``,
    prose(operation.description ?? ''),
    security.length === 0 || security.some((one) => Object.keys(one).length === 0) ? 'Needs no API key.' : '',
    ...describeParameters(operation.parameters ?? [], link),
    ...describeBody(operation.requestBody, link),
    ...describeExample({ method, address: `${server}${path}`, operation }),
    '**Responses**',
    table(
      ['Status', 'Body', 'Description'],
      Object.entries(operation.responses).map((response) => responseRow(response, link)),
    ),
  ].filter((part) => part !== '');
}

function describeParameters(parameters, link) {
  if (parameters.length === 0) return [];
  const rows = parameters.map((parameter) => [
    `\`${parameter.name}\``,
    parameter.in,
    typeOf(parameter.schema ?? {}, link),
    parameter.required ? 'yes' : '',
    `${parameter.deprecated ? 'Deprecated. ' : ''}${parameter.description ?? ''}`,
  ]);
  return ['**Parameters**', table(['Name', 'In', 'Type', 'Required', 'Description'], rows)];
}

function describeBody(body, link) {
  if (!body) return [];
  return Object.entries(body.content).flatMap(([type, { schema }]) => {
    const isNamed = schema.$ref !== undefined;
    const heading = `**Body** (\`${type}\`)${isNamed ? `: ${typeOf(schema, link)}` : ''}`;
    return isNamed ? [heading] : [heading, describeSchema(schema, link)];
  });
}

/** A request to copy, from the first example of a JSON body. */
function describeExample({ method, address, operation }) {
  const content = operation.requestBody?.content['application/json'];
  const value = Object.values(content?.examples ?? {})[0]?.value ?? content?.example;
  if (value === undefined) return [];
  const lines = [
    `curl -s${method === 'POST' ? '' : ` -X ${method}`} "$SLUICE_URL${address}" \\`,
    '  -H "Authorization: Bearer $SLUICE_API_KEY" -H "Content-Type: application/json" \\',
    `  -d '${JSON.stringify(value, null, 2).replaceAll("'", String.raw`'\''`)}'`,
  ];
  return [`\`\`\`sh\n${lines.join('\n')}\n\`\`\``];
}

function responseRow([status, { description, content = {} }], link) {
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    schema?.$ref || type === 'application/json' ? typeOf(schema ?? {}, link) : `\`${type}\``,
  );
  return [status, [...new Set(bodies)].join(', '), description];
}
