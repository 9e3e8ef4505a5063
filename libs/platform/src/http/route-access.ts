import { RouteConfig } from '@nestjs/platform-fastify';

/** Who may call a route: anybody, any valid key, or keys of kind `ADMIN`. */
export type RouteAccess = 'public' | 'inference' | 'admin';

/** What a route says of itself; read by the hooks of the api before the body is. */
export interface RouteSettings {
  access?: RouteAccess;
}

/**
 * Declares who may call a route; without it any valid key may. A sent key that is wrong is refused on public
 * routes too.
 */
export function Access(access: RouteAccess): MethodDecorator {
  return RouteConfig({ access } satisfies RouteSettings);
}
