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
const open = { config: { access: 'public' } satisfies RouteSettings };

/** Builds the OpenAPI document of every route under the base path from the DTOs. */
export function buildDocument(app: INestApplication): OpenAPIObject {
  const description =
    'An OpenAI-compatible inference service on your own hardware. Point an OpenAI client at this base path.';
  const config = new DocumentBuilder()
    .setTitle('Sluice')
    .setDescription(description)
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(basePath)
    .addBearerAuth(
      // Without an explicit format the builder writes JWT.
      { type: 'http', scheme: 'bearer', bearerFormat: 'slk_…', description: 'An API key, `slk_…`.' },
      'BearerAuth',
    )
    .build();
  const document = SwaggerModule.createDocument(app, config, { autoTagControllers: false });
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith(basePath));
  return {
    ...document,
    security: [{ BearerAuth: [] }],
    paths: Object.fromEntries(paths.map(([path, item]) => [path.slice(basePath.length), item])),
  };
}

const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sluice API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({ url: '${basePath}/openapi.json', dom_id: '#ui', deepLinking: true, persistAuthorization: true, validatorUrl: null });</script>
</body>
</html>
`;

/** Returns a function that calls `make` on first use and caches the result. */
function once<T extends object | string>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
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
  server.get('/docs', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
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
