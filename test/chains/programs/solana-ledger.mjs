// A Solana VM with what a node keeps around it: a mint with a faucet, slots, a history of transactions.
import {
  address,
  appendTransactionMessageInstructions,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getAddressDecoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getMintEncoder,
  getMintToInstruction,
  getTokenDecoder,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { nameError } from './solana-errors.mjs';

/** How many slots a blockhash can be used for. */
export const blockhashSlots = 150n;
const tokenAccountBytes = 165;
const base58 = (bytes) => getBase58Decoder().decode(bytes);

/** What a transaction says of itself; throws for bytes that are none. */
export function readTransaction(bytes) {
  const transaction = getTransactionDecoder().decode(bytes);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  const [first] = Object.values(transaction.signatures);
  const signatures = Object.values(transaction.signatures).map((signature) => base58(signature ?? new Uint8Array(64)));
  return { bytes, message, signatures, signature: base58(first ?? new Uint8Array(64)) };
}

export class SolanaLedger {
  // The VM knows one blockhash, and a chain those of its last 150 slots, so they are checked here.
  vm = new LiteSVM().withTransactionHistory(100_000n).withBlockhashCheck(false);
  /** The newest slots of blockhashes. */
  blockhashes = new Map();
  /** Records of executed transactions by signature, oldest first. */
  records = new Map();
  /** Transactions that wait because blocks are withheld. */
  waiting = [];
  isWithheld = false;

  /** `faucet` is the authority of the mint and pays for accounts. */
  constructor({ mint, decimals, faucet, clockOffsetS }) {
    Object.assign(this, { mint, decimals, faucet, clockOffsetS });
    this.vm.airdrop(faucet.address, lamports(1_000_000_000_000n));
    const data = getMintEncoder().encode({
      mintAuthority: faucet.address,
      supply: 0n,
      decimals,
      isInitialized: true,
      freezeAuthority: null,
    });
    this.vm.setAccount({
      address: mint,
      data,
      executable: false,
      lamports: lamports(1_461_600n),
      programAddress: TOKEN_PROGRAM_ADDRESS,
      space: BigInt(data.length),
    });
    this.vm.warpToSlot(1_000n);
    this.passSlot();
  }

  static async create({ mint, decimals, clockOffsetS }) {
    const faucet = await createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(7));
    return new SolanaLedger({ mint: address(mint), decimals, faucet, clockOffsetS });
  }

  get slot() {
    return this.vm.getClock().slot;
  }

  nowS() {
    return Math.floor(Date.now() / 1000) + this.clockOffsetS;
  }

  passSlot(slots = 1n) {
    const clock = this.vm.getClock();
    clock.slot += slots;
    clock.unixTimestamp = BigInt(this.nowS());
    this.vm.setClock(clock);
    this.vm.expireBlockhash();
    for (const [hash, slot] of this.blockhashes) if (slot + blockhashSlots < clock.slot) this.blockhashes.delete(hash);
    this.blockhashes.set(this.vm.latestBlockhash(), clock.slot);
  }

  expireBlockhashes() {
    this.blockhashes.clear();
    this.passSlot();
  }

  /** Balances of tokens of the accounts of a message, as `preTokenBalances` has them. */
  tokenBalances(keys) {
    return keys.flatMap((key, accountIndex) => {
      const token = this.tokenAccount(key);
      if (token === null) return [];
      const { mint, owner, amount } = token;
      return [{ accountIndex, mint, owner, programId: TOKEN_PROGRAM_ADDRESS, uiTokenAmount: this.uiAmount(amount) }];
    });
  }

  uiAmount(amount) {
    const digits = amount.toString().padStart(this.decimals + 1, '0');
    const whole = digits.slice(0, digits.length - this.decimals);
    const fraction = digits.slice(digits.length - this.decimals).replace(/0+$/, '');
    const uiAmountString = fraction === '' ? whole : `${whole}.${fraction}`;
    return { amount: amount.toString(), decimals: this.decimals, uiAmount: Number(uiAmountString), uiAmountString };
  }

  /** Null for an account that is not one of tokens. */
  tokenAccount(key) {
    const account = this.vm.getAccount(key);
    const isToken = account.exists && account.programAddress === TOKEN_PROGRAM_ADDRESS;
    return isToken && account.data.length === tokenAccountBytes ? getTokenDecoder().decode(account.data) : null;
  }

  /** Runs a transaction without a trace. Options are those of the node's method. */
  simulate(transaction, { sigVerify = false, replaceRecentBlockhash = false } = {}) {
    if (!replaceRecentBlockhash && !this.isRecent(transaction)) return unprocessed('BlockhashNotFound');
    const { inner } = this.vm;
    inner.setSigverify(sigVerify);
    try {
      const isLegacy = transaction.message.version === 'legacy';
      const result = isLegacy
        ? inner.simulateLegacyTransaction(transaction.bytes)
        : inner.simulateVersionedTransaction(transaction.bytes);
      return readResult(result);
    } finally {
      inner.setSigverify(true);
    }
  }

  isRecent({ message }) {
    return this.blockhashes.has(message.lifetimeToken);
  }

  /** Executes a transaction, or keeps it while blocks are withheld. */
  submit(transaction) {
    if (this.isWithheld) {
      const isKnown = this.waiting.some(({ signature }) => signature === transaction.signature);
      if (!isKnown) this.waiting.push(transaction);
    } else if (!this.records.has(transaction.signature)) this.execute(transaction);
  }

  execute(transaction) {
    if (!this.isRecent(transaction)) return unprocessed('BlockhashNotFound');
    const keys = transaction.message.staticAccounts;
    const lamportsOf = () => keys.map((key) => this.vm.getBalance(key) ?? 0n);
    const before = { preBalances: lamportsOf(), preTokenBalances: this.tokenBalances(keys) };
    const { inner } = this.vm;
    const isLegacy = transaction.message.version === 'legacy';
    const result = isLegacy
      ? inner.sendLegacyTransaction(transaction.bytes)
      : inner.sendVersionedTransaction(transaction.bytes);
    const executed = readResult(result);
    // A transaction that no block can contain leaves no record, as on a real chain.
    if (typeof executed.err === 'string') return executed;
    const after = { postBalances: lamportsOf(), postTokenBalances: this.tokenBalances(keys) };
    const record = { ...transaction, ...executed, ...before, ...after, slot: this.slot, blockTime: this.nowS() };
    this.records.set(transaction.signature, record);
    this.passSlot();
    return executed;
  }

  release() {
    this.isWithheld = false;
    for (const transaction of this.waiting.splice(0)) this.execute(transaction);
  }

  /** `confirmed` after one slot, `finalized` after 32. */
  statusOf(signature) {
    const record = this.records.get(signature);
    if (!record) return null;
    const confirmations = this.slot - record.slot;
    const isFinal = confirmations >= 32n;
    const confirmationStatus = isFinal ? 'finalized' : confirmations >= 1n ? 'confirmed' : 'processed';
    return { record, confirmations: isFinal ? null : confirmations, confirmationStatus };
  }

  async sendFromFaucet(instructions) {
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(this.faucet, empty),
      (unsigned) => this.vm.setTransactionMessageLifetimeUsingLatestBlockhash(unsigned),
      (unsigned) => appendTransactionMessageInstructions(instructions, unsigned),
    );
    const signed = await signTransactionMessageWithSigners(message);
    const { err } = this.execute(readTransaction(new Uint8Array(getTransactionEncoder().encode(signed))));
    if (err !== null) throw new Error(`the faucet's transaction failed: ${JSON.stringify(err)}`);
  }

  /** Creates the token account of an owner, if need be; resolves to its address. */
  async openTokenAccount(owner) {
    const [ata] = await findAssociatedTokenPda({ owner, mint: this.mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
    if (this.tokenAccount(ata) !== null) return ata;
    const { mint, faucet: payer } = this;
    await this.sendFromFaucet([await getCreateAssociatedTokenIdempotentInstructionAsync({ payer, owner, mint, ata })]);
    return ata;
  }

  async mintTo(owner, amount) {
    const token = await this.openTokenAccount(owner);
    const { mint, faucet: mintAuthority } = this;
    // Two mints of one amount would be the same transaction with one blockhash.
    this.passSlot();
    await this.sendFromFaucet([getMintToInstruction({ mint, token, mintAuthority, amount })]);
  }
}

/** Of a transaction that no block can contain. */
function unprocessed(err) {
  return { err, logs: [], unitsConsumed: 0n, returnData: null, postAccounts: [] };
}

function readResult(result) {
  const isFailed = result instanceof FailedTransactionMetadata;
  // Of a transaction that was sent and did not fail, the result is what the others have inside.
  const meta = typeof result.meta === 'function' ? result.meta() : result;
  const data = meta.returnData();
  const bytes = Buffer.from(data.data());
  const programId = getAddressDecoder().decode(data.programId());
  return {
    err: isFailed ? nameError(result.err()) : null,
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
    returnData: bytes.length === 0 ? null : { programId, data: [bytes.toString('base64'), 'base64'] },
    postAccounts: isFailed || !('postAccounts' in result) ? [] : result.postAccounts(),
  };
}
