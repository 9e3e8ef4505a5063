import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '#platform/metrics';
import type { Readiness } from './readiness.js';

export interface HealthServerOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  readiness: Readiness;
  metrics: Metrics;
  /** False when only a restart helps; `/health/live` then responds with 503. Default: always live. */
  isAlive?: () => boolean;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `/health/live`, `/health/ready`, `/health/dependencies` and `/metrics` for processes without another HTTP server. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => send(response, 500, { error: 'unavailable' }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: HealthServerOptions): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0];
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(response, 405, { error: 'method not allowed' });
  if (path === '/health/live') {
    const alive = options.isAlive?.() ?? true;
    return send(response, alive ? 200 : 503, { status: alive ? 'ok' : 'restart' });
  }
  if (path === '/health/ready') {
    const report = await options.readiness.report();
    return send(response, report.status === 'ok' ? 200 : 503, report);
  }
  if (path === '/health/dependencies') {
    const report = await options.readiness.dependencies();
    return send(response, report.status === 'ok' ? 200 : 503, report);
  }
  if (path === '/metrics') {
    const text = await options.metrics.render();
    response.writeHead(200, { 'content-type': options.metrics.contentType }).end(text);
    return;
  }
  send(response, 404, { error: 'not found' });
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
