import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { RouteTable } from './route-table.js';

function table(): RouteTable {
  const server = fastify();
  const routes = new RouteTable();
  routes.attach(server);
  server.get('/api/v1/keys/:id', () => 'x');
  server.delete('/api/v1/keys/:id', () => 'x');
  server.post('/api/v1/chat.completions', () => 'x');
  server.get('/api/v1/responses/:id', () => 'x');
  server.get('/files/*', () => 'x');
  return routes;
}

describe('RouteTable', () => {
  it.each([
    ['/api/v1/keys/7?x=1', ['DELETE', 'GET', 'HEAD']],
    ['/api/v1/keys/7/', ['DELETE', 'GET', 'HEAD']],
    ['/api/v1/keys', []],
    ['/api/v1/keys/7/8', []],
    ['/api/v1/chat.completions', ['POST']],
    ['/api/v1/chatXcompletions', []],
    ['/api/v1/responses/resp_1', ['GET', 'HEAD']],
    ['/api/v1/responses/compact', []],
    ['/files/a', []],
  ])('lists the methods of %s', (url, methods) => {
    expect(table().methodsOf(url)).toEqual(methods);
  });
});
