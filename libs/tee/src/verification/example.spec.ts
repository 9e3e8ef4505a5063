import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createHostIdentity } from '../host-identity.js';
import { createReceiptSigner } from '../receipts/workload.js';
import { signedText } from '../signed-text.js';

interface Example {
  checkEvidence(attestation: object, options: object): Promise<void>;
  checkSignature(signed: object, exchange: object): Promise<void>;
}

const { checkEvidence, checkSignature } = (await import(
  new URL('../../../../examples/verify-attestation.mjs', import.meta.url).href
)) as Example;

interface ReceiptExample {
  checkReceipt(receipt: object, attestation: object, exchange: object): void;
}

const { checkReceipt } = (await import(
  new URL('../../../../examples/verify-receipt.mjs', import.meta.url).href
)) as ReceiptExample;

const file = new URL('../__fixtures__/quote-up-to-date.json', import.meta.url);
const { quote, collateral } = JSON.parse(readFileSync(file, 'utf8')) as {
  quote: string;
  collateral: { tcb_info: string };
};
const nowMs = Date.parse((JSON.parse(collateral.tcb_info) as { issueDate: string }).issueDate) + 86_400_000;
const identity = createHostIdentity();
const own = { signing_key: identity.publicKey, signing_address: identity.address };
const options = { nonce: Buffer.alloc(32), collateral, nowMs };

describe('the example for those who verify', () => {
  it('accepts a real quote up to the key, which is another one', async () => {
    await expect(checkEvidence({ ...own, intel_quote: quote }, options)).rejects.toThrow('key: the quote is about');
  });

  it.each([
    ['no quote', { ...own }, options, 'hardware: there is no TDX quote'],
    ['a changed quote', { ...own, intel_quote: quote.replace(/^(.{800})./, '$1x') }, options, 'signature is inval'],
    ['expired data of the maker', { ...own, intel_quote: quote }, { ...options, nowMs: nowMs + 1e10 }, 'expired'],
    ['another machine', { ...own, intel_quote: quote }, { ...options, mrTd: '00'.repeat(48) }, 'software: another'],
    [
      'a foreign address',
      { ...own, intel_quote: quote, signing_address: `0x${'1'.repeat(40)}` },
      options,
      'key: the address',
    ],
  ])('refuses %s', async (_, attestation, given, message) => {
    await expect(checkEvidence(attestation, given)).rejects.toThrow(message);
  });

  it('checks the bytes of an exchange as hosts sign them', async () => {
    const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
    const text = signedText({ requestHash: hashOf('sent'), responseHash: hashOf('received') });
    const signed = { text, signature: identity.sign(text) };
    const exchange = { address: identity.address, sent: 'sent', received: Buffer.from('received') };
    await checkSignature(signed, exchange);
    await expect(checkSignature(signed, { ...exchange, sent: 'other' })).rejects.toThrow('other bytes');
    const other = { ...exchange, address: createHostIdentity().address };
    await expect(checkSignature(signed, other)).rejects.toThrow('another key');
  });

  it('checks receipts as hosts sign them', () => {
    const signer = createReceiptSigner(identity);
    const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
    const said = { chatId: 'c', model: 'm', endpoint: '/chat', servedAtMs: nowMs, isSealed: false };
    const hashes = { requestHash: hashOf('sent'), responseHash: hashOf('received') };
    const receipt = JSON.parse(signer.issue({ ...said, ...hashes })) as object;
    const attestationOf = ({ keysetAt }: typeof signer) => {
      const { keyset, endorsement } = keysetAt(nowMs);
      return { ...own, attestation: { workload_keyset: keyset, keyset_endorsement: { value: endorsement } } };
    };
    const attestation = attestationOf(signer);
    const exchange = { chatId: 'c', model: 'm', sent: 'sent', received: Buffer.from('received'), nowMs };
    checkReceipt(receipt, attestation, exchange);
    const refused: [object, object, object, string][] = [
      [receipt, attestation, { ...exchange, sent: 'other' }, 'another request'],
      [receipt, attestation, { ...exchange, received: 'other' }, 'other bytes'],
      [receipt, attestation, { ...exchange, chatId: 'd' }, 'another response'],
      [receipt, attestation, { ...exchange, model: 'n' }, 'another model'],
      [receipt, attestation, { ...exchange, nowMs: nowMs + 1e11 }, 'have expired'],
      [{ ...receipt, model: 'n' }, attestation, exchange, 'signature of the receipt'],
      [receipt, attestationOf(createReceiptSigner(identity)), exchange, 'other keys'],
      [receipt, attestationOf(createReceiptSigner(createHostIdentity())), exchange, 'another host'],
      [
        receipt,
        { ...attestation, attestation: { ...attestation.attestation, keyset_endorsement: { value: '00' } } },
        exchange,
        'did not endorse',
      ],
    ];
    for (const [of, by, about, problem] of refused) expect(() => checkReceipt(of, by, about)).toThrow(problem);
  });
});
