import { afterAll, afterEach, expect, it } from 'vitest';
import { payloadOf, randomHex } from '#test/payment-doubles';
import { paymentNetwork, PaymentServer, type PaymentStep } from '#test/payment-server';
import type { Platform, PlatformProcess } from '#test/platform';
import { describeFault, eventually, isQuick } from './fault-scene.js';

/* F34: processes are killed at every step of a top-up, and the facilitator fails. */

const payments = await PaymentServer.start();
const settings = payments.environment;

afterAll(() => payments.close());
afterEach(() => {
  payments.interfere = async () => undefined;
  payments.nonsense = null;
  payments.isWithholding = false;
});

function newPayment() {
  const payer = randomHex(20);
  const validBefore = String(Math.floor(Date.now() / 1_000) + 300);
  const payload = payloadOf({ payer, nonce: randomHex(32), value: '10000000', validBefore }, paymentNetwork.payTo);
  const body = { x402Version: 2, scheme: 'exact', network: 'base', payload };
  return { payer, header: Buffer.from(JSON.stringify(body)).toString('base64') };
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function pay(platform: Platform, header: string, replica = 1): Promise<Answer> {
  const response = await fetch(`${platform.origins[replica]}/api/v1/x402/top-up`, {
    method: 'POST',
    headers: { 'payment-signature': header },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Repeats a payment until it is credited, as a client does that was told that it is pending. */
async function untilCredited(platform: Platform, header: string): Promise<Answer> {
  return eventually('the payment is credited', async () => {
    const answer = await pay(platform, header).catch(() => null);
    expect(answer?.body ?? {}).not.toHaveProperty('accepts');
    return answer?.status === 200 && answer;
  });
}

async function creditsOf(platform: Platform, payer: string): Promise<string[]> {
  const rows = await platform.query<{ amount: string }>(
    `SELECT e.amount_nano::text AS amount FROM wallets w JOIN ledger_accounts a ON a.account_id = w.account_id
       JOIN ledger_entries e ON e.ledger_account_id = a.id WHERE w.address = $1`,
    [payer],
  );
  return rows.map(({ amount }) => amount);
}

/** Kills a process when the payment reaches a step, once. */
function killAt(platform: Platform, step: PaymentStep, names: PlatformProcess[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let isDone = false;
    payments.interfere = async (reached) => {
      if (reached !== step || isDone) return;
      isDone = true;
      await Promise.all(names.map((name) => platform.kill(name))).then(() => resolve(), reject);
    };
  });
}

const options = {
  replicas: { api: 2 },
  processEnv: { api: settings, 'api-2': settings, ops: settings },
};

describeFault('F34', options, (running) => {
  const steps: PaymentStep[] = isQuick ? ['settle', 'sent'] : ['verify', 'settle', 'sent', 'look up'];
  const kills = steps.flatMap((step) => [
    { step, name: 'ops' as const },
    { step, name: 'api' as const },
  ]);

  it.each(kills)(
    '$name is killed at "$step": the payment is credited once',
    async ({ step, name }) => {
      const platform = running();
      const { payer, header } = newPayment();
      const killed = killAt(platform, step, [name]);
      const first = pay(platform, header, 0).catch(() => null);
      await killed;
      await platform.start(name);
      const { body } = await untilCredited(platform, header);
      expect(body).toMatchObject({ success: true, data: { walletAddress: payer, amountCredited: 10, newBalance: 10 } });
      const told = await first;
      if (told?.status === 200) expect(told.body).toEqual(body);
      expect(await creditsOf(platform, payer)).toEqual(['10000000000']);
    },
    150_000,
  );

  it('the facilitator answers nonsense with 200: 502, and nothing is sent', async () => {
    const platform = running();
    const { payer, header } = newPayment();
    payments.nonsense = '{"ok":true}';
    const { status, body } = await pay(platform, header);
    expect([status, body.error]).toEqual([502, 'PAYMENT_FACILITATOR_FAILED']);
    expect(await creditsOf(platform, payer)).toEqual([]);
  }, 60_000);

  it('no block comes: the payment is pending, without a new offer, and credited with the block', async () => {
    const platform = running();
    const { payer, header } = newPayment();
    payments.isWithholding = true;
    const { status, body } = await pay(platform, header);
    expect([status, body.status]).toEqual([202, 'settlement_pending']);
    expect(body).not.toHaveProperty('accepts');
    payments.mine();
    await untilCredited(platform, header);
    expect(await creditsOf(platform, payer)).toEqual(['10000000000']);
  }, 120_000);
});
