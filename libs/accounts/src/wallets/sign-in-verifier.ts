import type { ContractSignatures } from './contract-signatures.js';
import { isSolanaSignature, personalDigest, recoverAddress } from './key-signatures.js';
import { type PresentedSignIn, readPresentedSignIn } from './presented-sign-in.js';
import { refusedSignIn } from './refused-sign-in.js';
import { parseSignInMessage, type SignInMessage } from './sign-in-message.js';
import { checkSignIn, type SignInPlace } from './sign-in-rules.js';
import { hasRightChecksum } from './wallet-address.js';

/** A sign-in whose signature is that of its wallet. Whether its nonce is new is not known yet. */
export interface VerifiedSignIn {
  /** As wallets are stored. */
  wallet: string;
  nonce: string;
  issuedAtMs: number;
  /** Until when it is good, in ms since the epoch. */
  untilMs: number;
}

/** Verifies sign-ins by themselves, without a store. The curve is loaded with the first one. */
export class SignInVerifier {
  constructor(
    private readonly place: SignInPlace,
    private readonly contracts: ContractSignatures,
  ) {}

  /**
   * Rejects with `X402_INVALID_SIGN_IN`, and with `SERVICE_UNAVAILABLE` when a node is needed that does not answer. What
   * costs least is checked first, the signature last.
   */
  async verify(header: string, nowMs: number): Promise<VerifiedSignIn> {
    const sent = readPresentedSignIn(header);
    const messages = sent.texts.map((text) => ({ text, message: parseSignInMessage(text) }));
    const untilMs = Math.min(...messages.map(({ message }) => checkSignIn(message, sent, this.place, nowMs)));
    const [first] = messages;
    if (first === undefined) throw refusedSignIn('The signed message is missing.');
    const { nonce, issuedAtMs } = first.message;
    await this.checkSignature(sent, messages);
    return { wallet: sent.address.stored, nonce, issuedAtMs, untilMs };
  }

  private async checkSignature(
    sent: PresentedSignIn,
    messages: readonly { text: string; message: SignInMessage }[],
  ): Promise<void> {
    const { address, signature } = sent;
    if (address.family === 'solana') {
      if (messages.some(({ text }) => isSolanaSignature(address.stored, text, signature))) return;
      throw wrongSignature();
    }
    await checkChecksums([sent.writtenAddress, ...messages.map(({ message }) => message.address)]);
    if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(signature)) throw refusedSignIn('signature must be 0x and hex digits.');
    for (const { text } of messages) if (await this.isEvmSignature(sent, text)) return;
    throw wrongSignature();
  }

  private async isEvmSignature({ address, chainId, kind, signature }: PresentedSignIn, text: string): Promise<boolean> {
    const digest = await personalDigest(text);
    const isPlain = signature.length === 2 + 65 * 2;
    if (isPlain && (await recoverAddress(digest, signature)) === address.stored) return true;
    // Contract wallets of one owner also sign with 65 bytes: they have to say so, or every forgery would ask a node.
    if (isPlain && kind === 'eip191') return false;
    const hex = `0x${Buffer.from(digest).toString('hex')}`;
    return await this.contracts.isValid({ chainId, address: address.stored, digest: hex, signature });
  }
}

async function checkChecksums(addresses: readonly string[]): Promise<void> {
  for (const address of new Set(addresses)) {
    if (!(await hasRightChecksum(address))) {
      throw refusedSignIn('The case of the letters in the address is wrong (EIP-55): send its checksum or lower case.');
    }
  }
}

function wrongSignature() {
  return refusedSignIn('The signature is not that of this address for this message.');
}
