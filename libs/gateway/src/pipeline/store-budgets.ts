import { StoreBudget } from '#common';
import { RequestBudgets } from '#jobs';

/** The budgets of the requests that are here, by their ids. */
export class StoreBudgets extends RequestBudgets {
  private readonly budgets = new Map<string, StoreBudget>();

  constructor(private readonly budgetMs: number) {
    super();
  }

  begin(requestId: string): void {
    this.budgets.set(requestId, new StoreBudget(this.budgetMs));
  }

  end(requestId: string): void {
    this.budgets.delete(requestId);
  }

  /** One of its own for what is no request from outside. */
  of(requestId: string | undefined): StoreBudget {
    const known = requestId === undefined ? undefined : this.budgets.get(requestId);
    return known ?? new StoreBudget(this.budgetMs);
  }
}
