import { expect, it } from 'vitest';
import { alertRules } from '#platform/metrics';
import { type AlertCondition, AlertStates } from './alert-states.js';

const slow: AlertCondition = { alert: 'SluiceBusSlow', subject: '', summary: 'Slow.' };
const { forMs } = alertRules.SluiceBusSlow;

it('lets an alert fire once its condition was seen for as long as its rule says', () => {
  const states = new AlertStates();
  const looks = [0, 60_000, 120_000, forMs - 60_000, forMs - 1, forMs];
  expect(looks.map((nowMs) => states.judge([slow], nowMs)[0]?.state)).toEqual([
    ...looks.slice(1).map(() => 'pending'),
    'firing',
  ]);
  expect(states.judge([slow], forMs + 1)).toEqual([
    { alert: 'SluiceBusSlow', summary: 'Slow.', state: 'firing', sinceMs: 0 },
  ]);
});

it('begins anew after the condition did not hold, and after nobody looked for minutes', () => {
  const states = new AlertStates();
  states.judge([slow], 0);
  states.judge([], 1_000);
  expect(states.judge([slow], 2_000)[0]?.sinceMs).toBe(2_000);
  expect(states.judge([slow], 122_000)[0]?.sinceMs).toBe(2_000);
  expect(states.judge([slow], 242_001)[0]?.sinceMs).toBe(242_001);
});

it('counts the time that the data prove, so that an old problem fires at the first look', () => {
  const old = { ...slow, heldMs: forMs };
  expect(new AlertStates().judge([old], 1_000_000)).toMatchObject([{ state: 'firing', sinceMs: 1_000_000 - forMs }]);
});

it('keeps the subjects of a rule apart, and shows what is urgent first', () => {
  const states = new AlertStates();
  const model = (subject: string): AlertCondition => ({ alert: 'SluiceModelWithoutWorker', subject, summary: subject });
  const broken: AlertCondition = { alert: 'SluiceLedgerBroken', subject: 'a', summary: 'Broken.' };
  states.judge([model('a')], 0);
  const judged = states.judge([slow, model('b'), model('a'), broken], 60_000);
  expect(judged.map(({ summary, state }) => `${summary} ${state}`)).toEqual([
    'Broken. firing',
    'b pending',
    'a pending',
    'Slow. pending',
  ]);
  expect(judged.find(({ summary }) => summary === 'a')?.sinceMs).toBe(0);
});
