import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import type * as Yaml from 'yaml';
import type { RouteSettings } from '#platform/http';

const load = createRequire(import.meta.url);
const basePath = '/api/v1';
/** The routes of administrators keep a part of their base path, because their names repeat those of the others. */
const adminPath = { base: '/api/admin/', server: '/api' };
const open = { config: { access: 'public' } satisfies RouteSettings };

/** The groups of operations, in the order of the document. */
const tags: Record<string, string> = {
  Chat: 'Complete conversations, whole or streamed, with tools, structured output, files, images and audio.',
  Completions: 'Continue plain texts, for clients that bring their own templates.',
  'Responses (Alpha)': 'The same conversations in the format of the Responses API.',
  Messages: 'The same conversations in the format of the Messages API.',
  Embeddings: 'Turn texts into vectors for search and comparison.',
  Rerank: 'Order documents by their relevance to a query.',
  Moderation: 'Check texts against the content policy of the operator.',
  Image: 'Generate, edit, upscale and cut out images.',
  Audio: 'Everything that speaks, listens or makes music, at once or as queued jobs.',
  Speech: 'Read texts aloud.',
  Transcriptions: 'Turn recordings and videos into text, in their language or in English.',
  Voices: 'Upload recordings of voices for models that clone them.',
  Video: 'Generate, interpolate and upscale videos as queued jobs.',
  Augment: 'Search the web, read pages and files, without a model.',
  'Crypto RPC': 'Call blockchain nodes of the operator.',
  x402: 'See the balance of a wallet and what it was charged.',
  TEE: 'Check who answers: evidence of trusted hardware, and signatures of responses.',
  Models: 'Find models, their names, limits and prices.',
  Characters: 'Find personas that chats can take on, and what accounts think of them.',
  'API Keys': 'Manage the keys of an account and see their limits.',
  Billing: 'See balances, charges and sums of usage.',
  Admin: 'See and run an account, or the installation: what the console shows.',
};

/** Paths in the order of their groups; those of a group keep theirs. */
function byTag(left: PathItem, right: PathItem): number {
  return positionOf(left) - positionOf(right);
}

function positionOf([, item]: PathItem): number {
  const operations = Object.values(item as Record<string, { tags?: string[] }>);
  const position = Object.keys(tags).indexOf(operations[0]?.tags?.[0] ?? '');
  return position < 0 ? Infinity : position;
}

/** Paths are relative to the server of the document, or to one that their operations name. Others are not published. */
function publishedPath([path, item]: PathItem): PathItem[] {
  if (path.startsWith(`${basePath}/`)) return [[path.slice(basePath.length), item]];
  if (!path.startsWith(adminPath.base)) return [];
  const operations = Object.entries(item as Record<string, object>).map(([method, operation]) => {
    return [method, { ...operation, servers: [{ url: adminPath.server }] }];
  });
  return [[path.slice(adminPath.server.length), Object.fromEntries(operations) as PathItem[1]]];
}

type PathItem = [path: string, item: OpenAPIObject['paths'][string]];

/** Builds the OpenAPI document of every route under the base path from the DTOs; `version` is `x-service-version`. */
export function buildDocument(app: INestApplication, version: string): OpenAPIObject {
  const description =
    'An OpenAI-compatible inference service on your own hardware. Point an OpenAI client at this base path.';
  const config = new DocumentBuilder()
    .setTitle('Sluice')
    .setDescription(description)
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(basePath)
    .addBearerAuth(
      // Without an explicit format the builder writes JWT.
      { type: 'http', scheme: 'bearer', bearerFormat: 'slk_…', description: 'An API key, `slk_…`.' },
      'BearerAuth',
    )
    .addApiKey({ type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same API key.' }, 'ApiKeyAuth')
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'SIGN-IN-WITH-X',
        description: 'The sign-in of a wallet (docs/guides/wallets.md).',
      },
      'siwx',
    )
    .build();
  const described = Object.entries(tags).map(([name, text]) => ({ name, description: text }));
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  const paths = Object.entries(document.paths).flatMap(publishedPath).toSorted(byTag);
  return untypeReferences({
    ...document,
    tags: described,
    security: [{ BearerAuth: [] }],
    paths: Object.fromEntries(paths),
  });
}

/**
 * Leaves out the type that NestJS writes beside a nullable reference: generators of clients take such a schema for the
 * referenced one alone, and their parsers fail on null.
 */
function untypeReferences<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(untypeReferences) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const isNullableReference = 'nullable' in value && 'allOf' in value;
  const members = Object.entries(value).filter(([name]) => !(isNullableReference && name === 'type'));
  return Object.fromEntries(members.map(([name, member]) => [name, untypeReferences(member)])) as Value;
}

const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

/** Addresses are relative, so that the page also works under the path prefix of a proxy. */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sluice API</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<p><a href="console/">Open the console</a></p>
<div id="ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/**
 * A file of its own, so that the page's policy allows no inline script. Keys are forgotten when the page is closed. The
 * servers of the document are paths of the api, to which the page adds the prefix that a proxy publishes the api under.
 */
const startScript = `const prefix = new URL('.', location.href).pathname.slice(0, -1);
SwaggerUIBundle({
  url: '${basePath.slice(1)}/openapi.json',
  dom_id: '#ui',
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    if (request.loadSpec) return request;
    const address = new URL(request.url, location.href);
    address.pathname = prefix + address.pathname;
    request.url = address.href;
    return request;
  },
});
`;

/** Returns a function that calls `make` on first use and caches the result. */
function once<T extends object | string>(make: () => T): () => T {
  let cached: T | undefined;
  return () => (cached ??= make());
}

/**
 * Serves `/docs`, `openapi.json` and `openapi.yaml` without external assets. The documents are built on first request,
 * because most processes never serve them.
 */
export function addDocumentation(server: FastifyInstance, build: () => OpenAPIObject): void {
  const document = once(build);
  const json = once(() => JSON.stringify(document()));
  const yaml = once(() => (load('yaml') as typeof Yaml).stringify(document(), { aliasDuplicateObjects: false }));
  server.get(`${basePath}/openapi.json`, open, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(json()),
  );
  server.get(`${basePath}/openapi.yaml`, open, (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(yaml()),
  );
  server.get('/docs', (request, reply) =>
    // From an address that ends with a slash, relative addresses would lead below the page.
    request.url.split('?', 1)[0]?.endsWith('/')
      ? reply.redirect('../docs')
      : reply.type('text/html; charset=utf-8').send(page),
  );
  server.get('/docs/start.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(startScript));
  const folder = dirname(load.resolve('swagger-ui-dist/package.json'));
  for (const [name, type] of Object.entries(assets)) {
    server.get(`/docs/${name}`, async (_request, reply) =>
      reply
        .type(type)
        .header('cache-control', 'public, max-age=86400')
        .send(readFileSync(join(folder, name))),
    );
  }
}
