import { createHash, randomBytes } from 'node:crypto';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* Responses that are stored and continued by their id, by the official client against the real processes. */

const model = 'tiny-llama';
const secret = 'heliotrope';

let platform: Platform;
let client: OpenAI;
let other: OpenAI;

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: platform.baseUrl, maxRetries: 0 });
}

/** A key of another account with a balance of its own. */
async function otherKey(): Promise<string> {
  const key = `slk_${randomBytes(24).toString('hex')}`;
  await platform.query(
    `WITH a AS (INSERT INTO accounts (name) VALUES ('another account') RETURNING id)
     INSERT INTO api_keys (account_id, kind, key_hash, last6, description)
     SELECT id, 'INFERENCE', $1, $2, 'other' FROM a`,
    [createHash('sha256').update(key).digest(), key.slice(-6)],
  );
  return key;
}

async function spent(work: () => Promise<unknown>): Promise<bigint> {
  const balance = async () => {
    await platform.closedJobs();
    const [row] = await platform.query<{ sum: string }>('SELECT sum(usd_nano)::text AS sum FROM balances');
    return BigInt(row?.sum ?? 0);
  };
  const before = await balance();
  await work();
  return before - (await balance());
}

/** The resource also says whether it is stored; the client’s type omits it. */
const isStored = (response: OpenAI.Responses.Response) => (response as unknown as { store: boolean }).store;

const create = (input: OpenAI.Responses.ResponseInput | string, more: object = {}) =>
  client.responses.create({ model, input, store: true, ...more });

describe('stored responses', () => {
  beforeAll(async () => {
    platform = await startPlatform({
      env: { SLUICE_STORED_RESPONSES_MS: '3600000', SLUICE_SWEEP_INTERVAL_MS: '200' },
    });
    client = clientOf(platform.inferenceKey);
    other = clientOf(await otherKey());
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  it('continue a conversation as if it were sent whole, at the same price', async () => {
    const texts = ['One [[tokens=4]]', 'Two [[tokens=5]]', 'Three [[tokens=6]]'];
    const first = await create(texts[0] ?? '');
    const second = await create(texts[1] ?? '', { previous_response_id: first.id });
    let third: OpenAI.Responses.Response | null = null;
    const price = await spent(async () => {
      third = await create(texts[2] ?? '', { previous_response_id: second.id });
    });
    const whole: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: texts[0] ?? '' },
      { role: 'assistant', content: first.output_text },
      { role: 'user', content: texts[1] ?? '' },
      { role: 'assistant', content: second.output_text },
      { role: 'user', content: texts[2] ?? '' },
    ];
    let sent: OpenAI.Responses.Response | null = null;
    const wholePrice = await spent(async () => {
      sent = await client.responses.create({ model, input: whole });
    });
    const [continued, expected] = [third, sent] as unknown as OpenAI.Responses.Response[];
    expect(continued?.output_text).toBe(expected?.output_text);
    expect(continued?.output_text).not.toBe('');
    expect(continued?.usage?.input_tokens).toBe(expected?.usage?.input_tokens);
    expect([continued && isStored(continued), continued?.previous_response_id]).toEqual([true, second.id]);
    expect(price).toBe(wholePrice);
    expect(price).toBeGreaterThan(0n);
  });

  it('carry reasoning and function calls on, but not the instructions', async () => {
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'Weather?' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny [[tokens=6 think=3]]' },
    ];
    const first = await create(input, { instructions: 'Be brief.' });
    expect(first.output[0]?.type).toBe('reasoning');
    const question = 'And tomorrow? [[tokens=3]]';
    const continued = await create(question, { previous_response_id: first.id });
    const items = [...input, ...first.output, { role: 'user', content: question }] as OpenAI.Responses.ResponseInput;
    const whole = await client.responses.create({ model, input: items });
    expect([continued.output_text, continued.usage?.input_tokens]).toEqual([
      whole.output_text,
      whole.usage?.input_tokens,
    ]);
    const output = [{ type: 'function_call_output' as const, call_id: 'call_other', output: '' }];
    await expect(create(output, { previous_response_id: first.id })).rejects.toMatchObject({
      status: 400,
      param: 'input[0].call_id',
    });
  });

  it('are stored before a stream ends', async () => {
    const stream = client.responses.stream({ model, input: 'Stream [[tokens=4]]', store: true });
    const final = await stream.finalResponse();
    expect(isStored(final)).toBe(true);
    const found = await client.responses.retrieve(final.id);
    expect(found.output).toEqual(final.output.map(({ ...item }) => expect.objectContaining({ id: item.id }) as object));
    const next = client.responses.stream({ model, input: 'On [[tokens=2]]', previous_response_id: final.id });
    expect((await next.finalResponse()).status).toBe('completed');
  });

  it('are retrieved, listed by page, and deleted', async () => {
    const first = await create('First [[tokens=2]]', { metadata: { a: 'b' } });
    const second = await create([{ role: 'user', content: 'Second [[tokens=2]]' }], { previous_response_id: first.id });
    const { output_text: _text, ...body } = second;
    expect(await client.responses.retrieve(second.id)).toMatchObject(body);
    const ascending = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 });
    expect(ascending.data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'First [[tokens=2]]' }] },
      { type: 'message', role: 'assistant', id: first.output[0]?.id },
    ]);
    expect(ascending.has_more).toBe(true);
    const all = [];
    for await (const item of client.responses.inputItems.list(second.id, { limit: 1 })) all.push(item);
    expect(all.map((item) => ('role' in item ? item.role : item.type))).toEqual(['user', 'assistant', 'user']);
    await client.responses.delete(first.id);
    await expect(client.responses.retrieve(first.id)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
    await expect(client.responses.delete(first.id)).rejects.toMatchObject({ status: 404 });
    // It holds its whole conversation.
    expect((await create('Go on [[tokens=2]]', { previous_response_id: second.id })).status).toBe('completed');
  });

  it('serve references to the items of their output', async () => {
    const first = await create('Refer [[tokens=3]]');
    const input = (item: object) =>
      [
        { role: 'user', content: 'Refer [[tokens=3]]' },
        item,
        { role: 'user', content: 'Next [[tokens=2]]' },
      ] as OpenAI.Responses.ResponseInput;
    const id = first.output[0]?.id ?? '';
    const referred = await client.responses.create({ model, input: input({ type: 'item_reference', id }) });
    const whole = await client.responses.create({ model, input: input(first.output[0] as object) });
    expect(referred.output_text).toBe(whole.output_text);
    for (const unknown of [`${id}1`, 'msg_1', '']) {
      const refused = client.responses.create({ model, input: input({ type: 'item_reference', id: unknown }) });
      await expect(refused).rejects.toMatchObject({ status: 400, param: 'input[1].id' });
    }
    const many = Array.from({ length: 33 }, (_, index) => ({ type: 'item_reference' as const, id: `msg_${index}_0` }));
    await expect(client.responses.create({ model, input: many })).rejects.toMatchObject({
      status: 400,
      param: 'input',
    });
    const foreign = other.responses.create({ model, input: input({ type: 'item_reference', id }) });
    await expect(foreign).rejects.toMatchObject({ status: 400, param: 'input[1].id' });
  });

  it('belong to their account', async () => {
    const { id } = await create('Mine [[tokens=2]]');
    await expect(other.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(other.responses.inputItems.list(id)).rejects.toMatchObject({ status: 404 });
    await expect(other.responses.delete(id)).rejects.toMatchObject({ status: 404 });
    await expect(other.responses.create({ model, input: 'x', previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
    expect((await client.responses.retrieve(id)).id).toBe(id);
    await expect(clientOf('slk_none').responses.retrieve(id)).rejects.toMatchObject({ status: 401 });
  });

  it('end with their time, and ops deletes them', async () => {
    const { id } = await create('Old [[tokens=2]]');
    const stays = await create('New [[tokens=2]]');
    await platform.query(`UPDATE response_states SET expires_at = now() - interval '1 ms' WHERE id = $1`, [id]);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(create('x', { previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
    const left = () => platform.query('SELECT FROM response_states WHERE id = $1', [id]);
    await expect.poll(async () => (await left()).length).toBe(0);
    expect((await client.responses.retrieve(stays.id)).id).toBe(stays.id);
  });

  it('are encrypted at rest', async () => {
    const { id } = await create(`The word is ${secret} [[tokens=2]]`);
    const rows = await platform.query<{ text: string }>(
      `SELECT encode(ciphertext, 'escape') || r::text AS text FROM response_states r WHERE id = $1`,
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).not.toContain(secret);
    // Bytes of another row are of no use.
    const { id: second } = await create('Another [[tokens=2]]');
    await platform.query(
      'UPDATE response_states SET ciphertext = (SELECT ciphertext FROM response_states WHERE id = $1) WHERE id = $2',
      [id, second],
    );
    await expect(client.responses.retrieve(second)).rejects.toMatchObject({ status: 404 });
  });

  it('are all that do not say otherwise and have ended well', async () => {
    const count = async () => (await platform.query('SELECT FROM response_states')).length;
    for (const body of [{}, { store: null }]) {
      const kept = await client.responses.create({ model, input: 'Yes [[tokens=1]]', ...body });
      expect(isStored(kept)).toBe(true);
      expect((await client.responses.retrieve(kept.id)).id).toBe(kept.id);
    }
    const before = await count();
    const plain = await client.responses.create({ model, input: 'No [[tokens=1]]', store: false });
    expect(isStored(plain)).toBe(false);
    for (const id of [plain.id, 'resp_%00', 'a%00']) {
      await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    }
    await expect(create('[[fail=1]]')).rejects.toMatchObject({ status: 500 });
    expect(await count()).toBe(before);
    const cut = await create('Long [[tokens=9]]', { max_output_tokens: 2 });
    expect((await client.responses.retrieve(cut.id)).status).toBe('incomplete');
  });

  it.each<[string, object]>([
    ['previous_response_id', { previous_response_id: 'resp_none' }],
    ['previous_response_id', { previous_response_id: '' }],
    ['previous_response_id', { previous_response_id: 7 }],
    ['previous_response_id', { previous_response_id: 'x'.repeat(129) }],
    ['store', { store: 'yes' }],
    ['store', { input: 'x'.repeat(16_000_001) }],
  ])('name %s in a refusal that costs nothing: %#', async (param, changes) => {
    const refused = async () => {
      await expect(create('Hello', changes)).rejects.toMatchObject({ status: 400, param });
    };
    expect(await spent(refused)).toBe(0n);
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=x'],
    ['order', 'order=up'],
    ['after', 'after=msg_none'],
  ])('name %s in a list that cannot be', async (param, query) => {
    const { id } = await create('List [[tokens=1]]');
    const response = await fetch(`${platform.baseUrl}/responses/${id}/input_items?${query}`, {
      headers: { authorization: `Bearer ${platform.inferenceKey}` },
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });
});

describe('stored responses of an installation that allows none', () => {
  beforeAll(async () => {
    platform = await startPlatform();
    client = clientOf(platform.inferenceKey);
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  it('are refused by name where they are continued, and not stored', async () => {
    const response = await create('Hello [[tokens=2]]');
    const { id } = response;
    expect(isStored(response)).toBe(false);
    expect(await platform.query('SELECT FROM response_states')).toEqual([]);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(create('On', { previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
  });
});
