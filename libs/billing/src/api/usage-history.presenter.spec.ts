import { describe, expect, it } from 'vitest';
import type { UsageEntry } from '../usage/usage-history.repository.js';
import { csvFileName, presentUsage, usageCsv, wantsCsv } from './usage-history.presenter.js';

const entry: UsageEntry = {
  entryId: 7n,
  createdAt: new Date('2026-11-21T12:00:00.123Z'),
  sku: 'tiny-llm-output-mtoken',
  units: '0.000048000',
  unitPriceNano: 200_000_000n,
  amountNano: -9_600n,
  currency: 'BUNDLED',
  note: '',
  requestId: '8f3a-SLC',
  responseId: null,
  executionMs: 840,
  promptTokens: 0,
  completionTokens: null,
};

describe('a line of the usage history', () => {
  it('is shown with its exact amount', () => {
    expect(presentUsage(entry)).toEqual({
      timestamp: '2026-11-21T12:00:00.123Z',
      sku: 'tiny-llm-output-mtoken',
      units: 0.000048,
      pricePerUnitUsd: 0.2,
      amount: -0.0000096,
      currency: 'BUNDLED_CREDITS',
      notes: 'API inference',
      inferenceDetails: {
        requestId: '8f3a-SLC',
        inferenceExecutionTime: 840,
        promptTokens: 0,
        completionTokens: null,
      },
    });
    expect(presentUsage({ ...entry, requestId: null }).inferenceDetails).toBeNull();
  });

  it('names the id that the caller saw in the body', () => {
    const chat = { ...entry, responseId: 'chatcmpl-8f3a-SLC' };
    expect(presentUsage(chat).inferenceDetails?.requestId).toBe('chatcmpl-8f3a-SLC');
    expect(usageCsv([chat])).toContain(',chatcmpl-8f3a-SLC,840,');
  });

  it('is a line of CSV in the order of the JSON, quoted where necessary', () => {
    const [head, first, second, end] = usageCsv([entry, { ...entry, note: 'a "b",\nc', requestId: null }]).split(
      '\r\n',
    );
    expect(head?.split(',').slice(0, 8)).toEqual([
      ...Object.keys(presentUsage(entry)).slice(0, 7),
      'inferenceDetails.requestId',
    ]);
    expect(first).toBe(
      '2026-11-21T12:00:00.123Z,tiny-llm-output-mtoken,0.000048000,0.200000000,-0.000009600,BUNDLED_CREDITS,API inference,8f3a-SLC,840,0,',
    );
    expect(second).toContain(',"a ""b"",\nc",,840,0,');
    expect(end).toBe('');
  });

  it.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-cmd', "'-cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', '"\'\r=1"'],
    ['-0.5', '-0.5'],
    ['a=1', 'a=1'],
  ])('has no field that a spreadsheet takes for a formula: %j', (note, written) => {
    expect(usageCsv([{ ...entry, note }])).toContain(`,BUNDLED_CREDITS,${written},8f3a-SLC,`);
  });

  it('has a file name with the time', () => {
    const name = csvFileName(Date.parse('2026-11-21T12:00:00.123Z'));
    expect(name).toBe('billing-usage-history-20261121T120000123Z.csv');
  });

  it.each([
    ['text/csv', true],
    ['text/csv;q=0.5, application/json;q=0.1', true],
    ['Text/CSV; charset=utf-8', true],
    ['application/json, text/csv;q=0.5', false],
    ['text/csv;q=0', false],
    ['*/*', false],
    ['application/json', false],
    [undefined, false],
  ])('is CSV for an Accept of %j: %s', (accept, csv) => {
    expect(wantsCsv(accept)).toBe(csv);
  });
});
