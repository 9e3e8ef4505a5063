import type { OpenapiDocument } from './openapi-facts.js';

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  description?: string;
}

/** A field of a request body. */
interface Field {
  /** `service_parameters.strip_thinking_response` */
  name: string;
  effect: Effect;
}

type Effect = 'yes' | 'no' | 'refused';

const introduction = `# Fields

This table lists the fields of every JSON or form body, by route (POST unless it says otherwise), as
\`test/conformance/openapi.spec.ts\` writes it. A field without effect is checked and then ignored. A refused field may only
say that it is not wanted, such as \`false\` or \`off\`.

Other fields are ignored, except on \`/messages\`, which refuses them with a 400 that names them. In the same way chat refuses
\`modalities\` other than text, \`audio\` and \`web_search_options\`, and speech a \`stream_format\` other than \`audio\`.
\`functions\` and \`function_call\` are translated to \`tools\` and \`tool_choice\`.
`;

/** What descriptions of fields say that are ignored, or that nothing here fulfils. */
const withoutEffect = /\bAccepted without effect\b/;
const refused = /^Refused\b/;

function effectOf({ description = '' }: Schema): Effect {
  if (refused.test(description)) return 'refused';
  return withoutEffect.test(description) ? 'no' : 'yes';
}

/** Returns the Markdown page with the fields of every request body of a document. */
export function describeFields(document: OpenapiDocument): string {
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, { requestBody?: { content?: Record<string, { schema?: Schema }> } }>).flatMap(
      ([method, { requestBody }]) => {
        const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema ?? {});
        const fields = distinct(schemas.flatMap((schema) => fieldsOf(document, schema, '', 0)));
        const route = `\`${method === 'post' ? '' : `${method.toUpperCase()} `}${path}\``;
        return fields.length === 0 ? [] : [{ route, cell: cellOf(fields) }];
      },
    ),
  );
  const cells = new Set(routes.map(({ cell }) => cell));
  const rows = [...cells].map((cell) => {
    const sharing = routes.filter((each) => each.cell === cell).map(({ route }) => route);
    return `| ${sharing.toSorted().join(', ')} | ${cell} |`;
  });
  // The widest row has a thousand characters, so the columns are not aligned.
  return [introduction, '<!-- prettier-ignore -->', '| Route | Fields |', '| --- | --- |', ...rows.toSorted(), ''].join(
    '\n',
  );
}

function cellOf(fields: readonly Field[]): string {
  const list = (title: string, effect: Effect): string[] => {
    const names = fields.filter((field) => field.effect === effect).map(({ name }) => `\`${name}\``);
    return names.length === 0 ? [] : [`${title}${names.toSorted().join(', ')}`];
  };
  return [...list('', 'yes'), ...list('without effect: ', 'no'), ...list('refused: ', 'refused')].join('; ');
}

/** Members of members belong to the field; lists and deeper objects are what a field holds. */
function fieldsOf(document: OpenapiDocument, schema: Schema, prefix: string, depth: number): Field[] {
  const { properties = {} } = resolved(document, schema);
  return Object.entries(properties).flatMap(([name, property]) => {
    const field: Field = { name: `${prefix}${name}`, effect: effectOf(property) };
    const inner = depth === 0 ? fieldsOf(document, property, `${prefix}${name}.`, 1) : [];
    return inner.length > 0 && field.effect === 'yes' ? inner : [field];
  });
}

function resolved(document: OpenapiDocument, schema: Schema): Schema {
  const { $ref, allOf } = schema;
  if (allOf?.[0] !== undefined) return resolved(document, allOf[0]);
  if ($ref === undefined) return schema;
  const { schemas } = (document as unknown as { components: { schemas: Record<string, Schema> } }).components;
  return schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {};
}

function distinct(fields: readonly Field[]): Field[] {
  return [...new Map(fields.map((field) => [field.name, field])).values()];
}
