import { StoreBudget } from '#common';

/** The budgets of the requests in flight, by id. */
export class StoreBudgets {
  private readonly budgets = new Map<string, StoreBudget>();

  constructor(private readonly budgetMs: number) {}

  begin(requestId: string): void {
    this.budgets.set(requestId, new StoreBudget(this.budgetMs));
  }

  end(requestId: string): void {
    this.budgets.delete(requestId);
  }

  /** A separate budget for work that no request started. */
  of(requestId: string | undefined): StoreBudget {
    const known = requestId === undefined ? undefined : this.budgets.get(requestId);
    return known ?? new StoreBudget(this.budgetMs);
  }
}
