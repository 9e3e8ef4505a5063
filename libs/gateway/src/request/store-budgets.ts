import { StoreBudget } from '#common';
import { RequestBudgets } from '#jobs';
import { ApiConfig } from '#platform/config';
import { Inject, Injectable } from '#platform/injection';

/** Store budgets of open requests, by request id. */
@Injectable()
export class StoreBudgets extends RequestBudgets {
  private readonly budgets = new Map<string, StoreBudget>();
  private readonly budgetMs: number;

  constructor(@Inject(ApiConfig) { storeTimeoutMs }: Pick<ApiConfig, 'storeTimeoutMs'>) {
    super();
    this.budgetMs = storeTimeoutMs;
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
