import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

interface KnownRoute {
  pattern: RegExp;
  methods: Set<string>;
}

/** Which methods an address answers, so that a wrong method is told from a wrong address. */
@Injectable()
export class RouteTable {
  private readonly routes = new Map<string, KnownRoute>();

  /** Listens to every route that is registered from now on. */
  attach(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      // The wildcard routes of Nest's middlewares and of the documentation's assets answer nothing by themselves.
      if (url.includes('*')) return;
      const known = this.routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
      for (const name of [method].flat()) known.methods.add(name);
      this.routes.set(url, known);
    });
  }

  /** Sorted; empty where there is no such address. */
  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    const methods = [...this.routes.values()].flatMap(({ pattern, methods: names }) =>
      pattern.test(path) ? [...names] : [],
    );
    return [...new Set(methods)].toSorted();
  }
}

function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)));
  return new RegExp(`^${parts.join('/')}/?$`);
}
