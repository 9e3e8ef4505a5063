import { setTimeout as sleep } from 'node:timers/promises';
import { isErc6492Signature, parseErc6492Signature } from 'viem/utils';
import { ChainError } from '../chain-error.js';
import type { Facilitator, OnChain, Settlement, SignedPayment, Verification } from '../facilitator.js';
import { invalid, isRefusal, type Refusal, refuse } from '../refusal.js';
import type { SentTransaction } from '../sent-transactions.repository.js';
import {
  type Authorization,
  checkTerms,
  type Hex,
  parseAuthorization,
  paymentKeyOf,
  type SignedAuthorization,
} from './authorization.js';
import { type EvmChain, withoutTransfer } from './evm-chain.js';
import type { EvmBlock, EvmNode } from './evm-node.js';
import type { FeePayer } from './fee-payer.js';
import { encodeTransfer, Token } from './token.js';
import { readAuthorizationUse } from './transfer-logs.js';
import { describeDomain, findSignedDomain, hashAuthorization, recoverSigner, splitSignature } from './typed-data.js';
import type { TokenDomain } from './typed-data.js';

/** Gas of a transfer, a contract that checks its payer's signature included. More is the payer spending the fee payer's. */
const maxGas = 500_000n;
/** An authorization must be valid for this many seconds more, so that its transaction can be mined. */
const leastValidS = 6n;
/** Time of `settle`, in ms: it answers within 20 s, and the chain goes on. */
const defaultSettleMs = 18_000;
const defaultPollMs = 500;
/** Looks an authorization up once in so many polls: another sender may have submitted it. */
const pollsPerLookUp = 6;

export interface EvmFacilitatorDependencies {
  readonly node: EvmNode;
  readonly chain: EvmChain;
  readonly feePayer: FeePayer;
  readonly chainId: number;
  readonly confirmations: number;
  readonly settleMs?: number;
  readonly pollMs?: number;
}

/** Verifies EIP-3009 authorizations against a node, and submits them with the key of the operator's fee payer. */
export class EvmFacilitator implements Facilitator {
  constructor(private readonly dependencies: EvmFacilitatorDependencies) {}

  async verify(payment: SignedPayment, signal: AbortSignal): Promise<Verification> {
    const checked = await this.check(payment, signal);
    return isRefusal(checked) ? invalid(checked) : { valid: true, payer: checked.signed.authorization.from };
  }

  /** May be repeated: an authorization has one transaction, which is sent again if the node has lost it. */
  async settle(payment: SignedPayment, signal: AbortSignal): Promise<Settlement> {
    const deadline = AbortSignal.timeout(this.dependencies.settleMs ?? defaultSettleMs);
    const limit = AbortSignal.any([signal, deadline]);
    const progress: { sent: SentTransaction | null } = { sent: null };
    try {
      return await this.settleWithin(payment, progress, limit);
    } catch (error) {
      // Once a transaction is signed, no fault of a node tells what became of it.
      if (!deadline.aborted && (progress.sent === null || signal.aborted)) throw error;
      return { outcome: 'pending', transaction: progress.sent?.hash ?? null };
    }
  }

  private async settleWithin(
    payment: SignedPayment,
    progress: { sent: SentTransaction | null },
    signal: AbortSignal,
  ): Promise<Settlement> {
    const { feePayer } = this.dependencies;
    const parsed = parseAuthorization(payment.payload);
    if (isRefusal(parsed)) return { outcome: 'failed', ...parsed };
    const paymentKey = paymentKeyOf(parsed.authorization, payment.terms.asset);
    progress.sent = await feePayer.find(paymentKey);
    if (!progress.sent) {
      const checked = await this.check(payment, signal);
      if (isRefusal(checked)) return this.afterRefusal(checked, payment, signal);
      const { signed, gas } = checked;
      const to = payment.terms.asset.toLowerCase() as Hex;
      progress.sent = await feePayer.sign({ paymentKey, to, data: encodeTransfer(signed), gas }, signal);
    }
    return this.awaitOutcome(payment, progress, { authorization: parsed.authorization, paymentKey, signal });
  }

  /** A spent authorization may have paid: another sender may have submitted it, up to its end. */
  private async afterRefusal(refusal: Refusal, payment: SignedPayment, signal: AbortSignal): Promise<Settlement> {
    const { chain } = this.dependencies;
    if (!(await chain.isSpent(payment, signal))) return { outcome: 'failed', ...refusal };
    return settlementOf(await chain.lookUp(payment, signal)) ?? { outcome: 'pending', transaction: null };
  }

  /** Sends until the transaction is mined, then waits for its confirmations. */
  private async awaitOutcome(
    payment: SignedPayment,
    progress: { sent: SentTransaction | null },
    { authorization, paymentKey, signal }: { authorization: Authorization; paymentKey: string; signal: AbortSignal },
  ): Promise<Settlement> {
    const { chain, feePayer } = this.dependencies;
    for (let polls = 0; ; polls += 1) {
      if (polls % pollsPerLookUp === 0) {
        const receipt = progress.sent && (await this.dependencies.node.receipt(progress.sent.hash, signal));
        if (!receipt) await feePayer.broadcast(signal);
        progress.sent = (await feePayer.find(paymentKey)) ?? progress.sent;
      }
      const settlement = await this.readReceipt(progress.sent?.hash ?? '', { payment, authorization, signal });
      if (settlement) return settlement;
      if (polls % pollsPerLookUp === pollsPerLookUp - 1) {
        const known = settlementOf(await chain.lookUp(payment, signal));
        if (known) return known;
      }
      await sleep(this.dependencies.pollMs ?? defaultPollMs, undefined, { signal });
    }
  }

  /** Null: not mined, or without enough confirmations. */
  private async readReceipt(
    hash: string,
    { payment, authorization, signal }: { payment: SignedPayment; authorization: Authorization; signal: AbortSignal },
  ): Promise<Settlement | null> {
    const { node, chain, confirmations } = this.dependencies;
    const receipt = await node.receipt(hash, signal);
    if (!receipt) return null;
    const { number } = await node.block('latest', signal);
    if (number - receipt.blockNumber + 1n < BigInt(confirmations)) return null;
    if (receipt.isSuccess) {
      const use = readAuthorizationUse(receipt.logs, { asset: payment.terms.asset, authorization });
      if (use === 'transferred') return { outcome: 'settled', transaction: hash };
      return mismatch(withoutTransfer);
    }
    // Reverted: another sender may have been faster. Otherwise it can still be used by anybody, since its signature is
    // public now: only its end says that it was not.
    const known = settlementOf(await chain.lookUp(payment, signal));
    return known ?? { outcome: 'pending', transaction: hash };
  }

  /** Everything that can be known before a transaction: form, terms, time, signature, and a simulated transfer. */
  private async check(
    payment: SignedPayment,
    signal: AbortSignal,
  ): Promise<{ signed: SignedAuthorization; gas: bigint } | Refusal> {
    const parsed = parseAuthorization(payment.payload);
    if (isRefusal(parsed)) return parsed;
    const domain = this.domainOf(payment);
    const wrong = checkTerms(parsed.authorization, payment);
    if (wrong) return wrong;
    const { node } = this.dependencies;
    const { from } = parsed.authorization;
    const [block, code] = await Promise.all([node.block('latest', signal), node.code(from, signal)]);
    const early = checkTimes(parsed.authorization, block);
    if (early) return early;
    const signed = code === '0x' ? await checkKeySignature(parsed, domain) : unwrapped(parsed);
    return isRefusal(signed) ? signed : this.simulate(signed, { payment, domain, signal });
  }

  private domainOf({ terms }: SignedPayment): TokenDomain {
    const { name, version } = terms.extra;
    if (!name || !version) throw new ChainError('unusable', 'the terms lack the EIP-712 name or version of the token');
    const { chainId } = this.dependencies;
    return { name, version, chainId, verifyingContract: terms.asset.toLowerCase() as Hex };
  }

  private async simulate(
    signed: SignedAuthorization,
    { payment, domain, signal }: { payment: SignedPayment; domain: TokenDomain; signal: AbortSignal },
  ): Promise<{ signed: SignedAuthorization; gas: bigint } | Refusal> {
    const { node, feePayer } = this.dependencies;
    const to = domain.verifyingContract;
    const call = { from: feePayer.address, to, data: encodeTransfer(signed), gas: maxGas };
    const result = await node.call(call, 'latest', signal);
    if ('reverted' in result) return this.diagnose(signed, { domain, reverted: result.reverted, signal });
    const estimated = await node.estimateGas(call, signal);
    if (typeof estimated === 'object') return this.diagnose(signed, { domain, reverted: estimated.reverted, signal });
    const gas = (estimated * 5n) / 4n;
    if (gas <= maxGas) return { signed, gas };
    return refuse(
      'invalid_exact_evm_transaction_simulation_failed',
      `The transfer takes more than ${maxGas} units of gas; the signature of the paying contract ${payment.terms.network} costs too much.`,
    );
  }

  /** Says why a token would refuse the transfer. */
  private async diagnose(
    { authorization }: SignedAuthorization,
    { domain, reverted, signal }: { domain: TokenDomain; reverted: string; signal: AbortSignal },
  ): Promise<Refusal> {
    const token = new Token(this.dependencies.node, domain.verifyingContract);
    if (await token.isSpent(authorization, 'latest', signal))
      return refuse('invalid_exact_evm_nonce_already_used', 'The authorization was already used or canceled.');
    const balance = await token.balanceOf(authorization.from, signal);
    if (balance !== null && balance < authorization.value)
      return refuse(
        'invalid_exact_evm_insufficient_balance',
        `The payer has ${balance} base units of the token; the authorization is for ${authorization.value}.`,
      );
    return refuse(
      'invalid_exact_evm_transaction_simulation_failed',
      `The token refuses the transfer: ${reverted}. Expected domain: ${describeDomain(domain)}.`,
    );
  }
}

/** The authorization is used up, and has not paid. */
function mismatch(message: string): Settlement {
  return { outcome: 'failed', reason: 'invalid_exact_evm_transfer_event_mismatch', message };
}

/** Null: the chain does not say yet. */
function settlementOf(onChain: OnChain): Settlement | null {
  if (onChain.state === 'settled') return { outcome: 'settled', transaction: onChain.transaction };
  if (onChain.state === 'unused') return null;
  return mismatch(onChain.message);
}

/** Both bounds are exclusive. The chain's clock decides; one that is behind must not make an expired one look valid. */
function checkTimes({ validAfter, validBefore }: Authorization, { timestamp }: EvmBlock): Refusal | null {
  if (timestamp <= validAfter)
    return refuse(
      'invalid_exact_evm_payload_authorization_valid_after',
      `The authorization is not yet valid: validAfter is ${validAfter}, the time of the chain is ${timestamp}.`,
    );
  const now = BigInt(Math.floor(Date.now() / 1_000));
  const latest = now > timestamp ? now : timestamp;
  if (validBefore >= latest + leastValidS) return null;
  return refuse(
    'invalid_exact_evm_payload_authorization_valid_before',
    `The authorization ends too soon: validBefore is ${validBefore}, the time is ${latest}.`,
  );
}

async function checkKeySignature(
  signed: SignedAuthorization,
  domain: TokenDomain,
): Promise<SignedAuthorization | Refusal> {
  const { authorization, signature } = signed;
  if (isErc6492Signature(signature))
    return refuse(
      'invalid_exact_evm_signature',
      'The paying contract wallet is not deployed on this chain yet; deploy it with any transaction and pay again.',
    );
  const split = splitSignature(signature);
  if (!split) return refuse('invalid_exact_evm_signature', 'payload.signature must be the 65 bytes of a key.');
  const signer = await recoverSigner(hashAuthorization(domain, authorization), split);
  if (signer === authorization.from) return signed;
  const other = await findSignedDomain(domain, { authorization, signature: split });
  const found = other ? ` It was signed for ${describeDomain(other)}.` : '';
  return refuse(
    'invalid_exact_evm_signature',
    `The signature is not the payer's for the EIP-712 domain that was expected: ${describeDomain(domain)}.${found}`,
  );
}

/** The wallet is deployed, so the call that would deploy it is left out. */
function unwrapped(signed: SignedAuthorization): SignedAuthorization | Refusal {
  if (!isErc6492Signature(signed.signature)) return signed;
  try {
    return { ...signed, signature: parseErc6492Signature(signed.signature).signature };
  } catch {
    return refuse('invalid_exact_evm_failed_to_parse_signature', 'payload.signature is not what EIP-6492 describes.');
  }
}
