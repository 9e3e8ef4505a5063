import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

interface KnownRoute {
  pattern: RegExp;
  methods: Set<string>;
}

/** Maps paths to their allowed methods, so that a wrong method gets a 405 instead of a 404. */
@Injectable()
export class RouteTable {
  private readonly routes = new Map<string, KnownRoute>();

  /** Records every route registered later. */
  attach(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      // The wildcard routes of Nest's middlewares and the documentation assets respond to nothing themselves.
      if (url.includes('*')) return;
      const known = this.routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
      for (const name of [method].flat()) known.methods.add(name);
      this.routes.set(url, known);
    });
  }

  /** Returns the allowed methods, sorted; none for an unknown path. */
  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    const methods = [...this.routes.values()].flatMap(({ pattern, methods: names }) =>
      pattern.test(path) ? [...names] : [],
    );
    return [...new Set(methods)].toSorted();
  }
}

/** Parameters whose values have a form, by the part before them: a path with another value is unknown. */
const parameterForms: Readonly<Record<string, string>> = { responses: 'resp_[^/]+' };

function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part, index, all) =>
      part.startsWith(':')
        ? (parameterForms[all[index - 1] ?? ''] ?? '[^/]+')
        : part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`),
    );
  return new RegExp(`^${parts.join('/')}/?$`);
}
