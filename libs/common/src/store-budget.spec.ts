import { describe, expect, it } from 'vitest';
import { BudgetSpent, StoreBudget } from './store-budget.js';

const after = <Result>(ms: number, result: Result): Promise<Result> =>
  new Promise((resolve) => setTimeout(() => resolve(result), ms));
const never = new Promise<never>(() => undefined);

describe('the store budget of a request', () => {
  it('returns what the stores return, and their errors', async () => {
    const budget = new StoreBudget(60_000);
    expect(await budget.within(Promise.resolve(1))).toBe(1);
    await expect(budget.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is shared by all calls: each has what earlier ones left', async () => {
    let nowMs = 0;
    const budget = new StoreBudget(60_000, { nowMs: () => 0, monotonicMs: () => nowMs });
    const first = budget.within(after(1, 'slow'));
    nowMs = 60_000;
    expect(await first).toBe('slow');
    expect(budget.spentMs).toBe(60_000);
    await expect(budget.within(never)).rejects.toBeInstanceOf(BudgetSpent);
    // Values that are already known use no budget.
    expect(await budget.within(Promise.resolve('cached'))).toBe('cached');
  });

  it('rejects with a 503 when it is spent, and gives the reason only to the log', async () => {
    const spent: unknown = await new StoreBudget(5).within(never).catch((error: unknown) => error);
    expect(spent).toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { message: expect.stringContaining('5 ms') } });
    expect((spent as Error).message).not.toContain('database');
  });

  it('lets started work finish, also when it fails', async () => {
    const budget = new StoreBudget(1);
    let ended = false;
    const work = after(20, null).then(() => {
      ended = true;
      throw new Error('too late to matter');
    });
    await expect(budget.within(work)).rejects.toBeInstanceOf(BudgetSpent);
    await work.catch(() => undefined);
    expect(ended).toBe(true);
  });

  it('undoes results that arrive too late, and no others', async () => {
    const undone: string[] = [];
    const undo = (late: string): void => void undone.push(late);
    const budget = new StoreBudget(5);
    expect(await budget.within(Promise.resolve('in time'), undo)).toBe('in time');
    await expect(budget.within(Promise.reject<string>(new Error('no')), undo)).rejects.toThrow('no');
    const late = after(30, 'late');
    await expect(budget.within(late, undo)).rejects.toBeInstanceOf(BudgetSpent);
    await late;
    await expect.poll(() => undone, { timeout: 20_000 }).toEqual(['late']);
  });
});
