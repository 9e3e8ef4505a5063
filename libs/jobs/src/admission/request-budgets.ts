import type { StoreBudget } from '#common';

/** How long a request may still wait for database and queue. */
export abstract class RequestBudgets {
  abstract of(requestId: string): StoreBudget;
}
