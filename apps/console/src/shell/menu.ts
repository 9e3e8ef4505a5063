import type { FunctionComponent } from 'preact';
import type { Session } from '../api/session.js';
import { Overview } from '../views/overview/overview.js';
import { Billing } from '../views/billing/billing.js';
import { Characters } from '../views/characters/characters.js';
import { Health } from '../views/health/health.js';
import { Limits } from '../views/limits/limits.js';
import { Models } from '../views/models/models.js';
import { Queue } from '../views/queue/queue.js';
import { Requests } from '../views/requests/requests.js';
import { Usage } from '../views/usage/usage.js';
import { ApiKeys } from '../views/api-keys/api-keys.js';
import { lazy } from './lazy.js';
import type { ViewProps } from './view-props.js';

type Role = Session['role'];

export interface MenuEntry {
  view: string;
  title: string;
  roles: readonly Role[];
  component: FunctionComponent<ViewProps>;
}

const everyone: readonly Role[] = ['operator', 'admin', 'inference'];
const admins: readonly Role[] = ['operator', 'admin'];
const operators: readonly Role[] = ['operator'];

/** The views in the order of the menu. The first that a role may see is its start page. */
export const menu: readonly MenuEntry[] = [
  { view: 'overview', title: 'Overview', roles: everyone, component: Overview },
  {
    view: 'playground',
    title: 'Playground',
    roles: everyone,
    component: lazy(async () => (await import('../playground/playground.js')).Playground),
  },
  { view: 'models', title: 'Models', roles: everyone, component: Models },
  { view: 'api-keys', title: 'API keys', roles: admins, component: ApiKeys },
  { view: 'usage', title: 'Usage', roles: everyone, component: Usage },
  { view: 'requests', title: 'Requests', roles: everyone, component: Requests },
  { view: 'queue', title: 'Queue and workers', roles: operators, component: Queue },
  { view: 'billing', title: 'Billing', roles: admins, component: Billing },
  { view: 'limits', title: 'Limits', roles: everyone, component: Limits },
  { view: 'characters', title: 'Characters', roles: everyone, component: Characters },
  { view: 'health', title: 'Health', roles: operators, component: Health },
];

export function menuFor(role: Role): readonly MenuEntry[] {
  return menu.filter(({ roles }) => roles.includes(role));
}
