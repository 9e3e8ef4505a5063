import { describe, expect, it } from 'vitest';
import { BudgetSpent, StoreBudget } from './store-budget.js';

const after = <Result>(ms: number, result: Result): Promise<Result> =>
  new Promise((resolve) => setTimeout(() => resolve(result), ms));
const never = new Promise<never>(() => undefined);

describe('the budget of a request', () => {
  it('gives what the stores answer, and their errors', async () => {
    const budget = new StoreBudget(60_000);
    expect(await budget.within(Promise.resolve(1))).toBe(1);
    await expect(budget.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is one for all questions: what the first has used, the second has not', async () => {
    let nowMs = 0;
    const budget = new StoreBudget(60_000, { nowMs: () => 0, monotonicMs: () => nowMs });
    const first = budget.within(after(1, 'slow'));
    nowMs = 60_000;
    expect(await first).toBe('slow');
    expect(budget.spentMs).toBe(60_000);
    await expect(budget.within(never)).rejects.toBeInstanceOf(BudgetSpent);
    // What is known already costs nothing.
    expect(await budget.within(Promise.resolve('cached'))).toBe('cached');
  });

  it('says 503 when it is spent, and why to the log alone', async () => {
    const spent: unknown = await new StoreBudget(5).within(never).catch((error: unknown) => error);
    expect(spent).toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { message: expect.stringContaining('5 ms') } });
    expect((spent as Error).message).not.toContain('database');
  });

  it('leaves what was begun to its end, also a bad one', async () => {
    const budget = new StoreBudget(1);
    let ended = false;
    const work = after(20, null).then(() => {
      ended = true;
      throw new Error('nobody listens any more');
    });
    await expect(budget.within(work)).rejects.toBeInstanceOf(BudgetSpent);
    await work.catch(() => undefined);
    expect(ended).toBe(true);
  });

  it('has what comes too late taken back, and nothing else', async () => {
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
