import { StoreBudget } from '#common';
import { RequestBudgets } from '#jobs';

/** Store budgets of open requests, by request id. */
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

  /** Returns a new budget for work that belongs to no request. */
  of(requestId: string | undefined): StoreBudget {
    const known = requestId === undefined ? undefined : this.budgets.get(requestId);
    return known ?? new StoreBudget(this.budgetMs);
  }
}
