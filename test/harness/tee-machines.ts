import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Machine } from '#tee';
import { certify, type CertifiedKey, derInteger } from './certificates.js';

/*
 * Doubles of machines with trusted hardware: evidence in the layout of real machines, signed by keys of tests. It holds for
 * the roots that each double names and for no maker's root.
 */

function missing(path: string): never {
  throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
}

/** A double of a machine: no hardware, no configfs, no agent, no driver. */
export const bareMachine: Machine = {
  exists: async () => false,
  readFile: async (path) => missing(path),
  writeFile: async (path) => missing(path),
  makeFolder: async (path) => missing(path),
  removeFolder: async (path) => missing(path),
  post: async ({ socket }) => missing(socket),
  run: async (program) => missing(program),
};

interface Kernel {
  /** As the kernel names its module. */
  readonly provider: string;
  outblob(inblob: Uint8Array): Uint8Array;
  readonly auxblob?: Uint8Array;
  /** Writes of other processes with each write. */
  readonly otherWrites?: number;
}

/** A double of the kernel's configfs: a folder that fills itself, and counts writes. */
export class ConfigfsDouble implements Machine {
  readonly folders = new Map<string, { inblob: Uint8Array; generation: number }>();
  readonly exists = bareMachine.exists;
  readonly post = bareMachine.post;
  readonly run = bareMachine.run;

  constructor(private readonly kernel: Kernel) {}

  async makeFolder(path: string): Promise<void> {
    this.folders.set(path, { inblob: new Uint8Array(), generation: 0 });
  }

  async removeFolder(path: string): Promise<void> {
    this.folders.delete(path);
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<void> {
    const { report, name } = this.find(path);
    if (name !== 'inblob') missing(path);
    report.inblob = bytes;
    report.generation += 1 + (this.kernel.otherWrites ?? 0);
  }

  async readFile(path: string): Promise<Uint8Array> {
    const { report, name } = this.find(path);
    const { provider, outblob, auxblob = Buffer.from('certificates') } = this.kernel;
    if (name === 'provider') return Buffer.from(`${provider}\n`);
    if (name === 'generation') return Buffer.from(`${report.generation}\n`);
    if (name === 'outblob') return outblob(report.inblob);
    if (name === 'auxblob') return auxblob;
    return missing(path);
  }

  private find(path: string) {
    const report = this.folders.get(path.slice(0, path.lastIndexOf('/'))) ?? missing(path);
    return { report, name: path.slice(path.lastIndexOf('/') + 1) };
  }
}

const number = (value: number, bytes: 2 | 4): Buffer => {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer.subarray(0, bytes);
};

const rawSignature = (hash: string, bytes: Uint8Array, key: KeyObject): Buffer =>
  sign(hash, bytes, { key, dsaEncoding: 'ieee-p1363' });

function coordinatesOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return Buffer.concat([x, y].map((part) => Buffer.from(part, 'base64url')));
}

/** A double of a machine with TDX: a root, a processor, a quoting enclave and its key. */
export function makeTdxMachine() {
  const root = certify({ name: 'Test root', curve: 'P-256', isAuthority: true });
  const processor = certify({ name: 'Test processor', curve: 'P-256', issuer: root });
  const attestation = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const attestationKey = coordinatesOf(attestation.publicKey);
  const pem = Buffer.from([processor, root].map(({ certificate }) => certificate.toString()).join(''));
  const enclaveReport = Buffer.alloc(384);
  createHash('sha256').update(attestationKey).digest().copy(enclaveReport, 320);
  const certification = Buffer.concat([
    enclaveReport,
    rawSignature('sha256', enclaveReport, processor.key),
    number(0, 2),
    number(5, 2),
    number(pem.length, 4),
    pem,
  ]);

  const quoteAbout = (reportData: Uint8Array): Uint8Array => {
    const signed = Buffer.alloc(48 + 584);
    signed.writeUInt16LE(4, 0);
    signed.writeUInt16LE(2, 2);
    signed.writeUInt32LE(0x81, 4);
    signed.set(reportData, 48 + 520);
    const signature = rawSignature('sha256', signed, attestation.privateKey);
    const enclave = [number(6, 2), number(certification.length, 4), certification];
    const authentication = Buffer.concat([signature, attestationKey, ...enclave]);
    return Buffer.concat([signed, number(authentication.length, 4), authentication]);
  };
  const machine = new ConfigfsDouble({ provider: 'tdx_guest', outblob: quoteAbout });
  return { machine, rootKey: coordinatesOf(root.certificate.publicKey).toString('hex') };
}

const arc = '2b060104019c7801';
const firmware = [4, 0, 24, 219] as const;

/** Names of the certificates in the table that a host passes on: chip, intermediate, root. */
const tableNames = [
  '63da758de6644564adc5f4b93be8accd',
  '4ab7b379bbac4fe4a02f05aef327c782',
  'c0b406a4a803495297433fb6014cd0ae',
];

function tableOf(certificates: readonly CertifiedKey[]): Buffer {
  const contents = certificates.map(({ certificate }) => certificate.raw);
  let offset = 24 * (contents.length + 1);
  const entries = contents.map((content, index) => {
    const entry = [Buffer.from(tableNames[index] ?? '', 'hex'), number(offset, 4), number(content.length, 4)];
    offset += content.length;
    return Buffer.concat(entry);
  });
  return Buffer.concat([...entries, Buffer.alloc(24), ...contents]);
}

/** A double of a machine with SEV-SNP: a root, an intermediate, and the key of its chip. */
export function makeSevMachine() {
  const root = certify({ name: 'Test ARK', curve: 'P-384', isAuthority: true });
  const intermediate = certify({ name: 'Test ASK', curve: 'P-384', issuer: root, isAuthority: true });
  const chipId = createHash('sha512').update('chip of a test').digest();
  const versions = firmware.map((version, index) => {
    const value = version < 128 ? derInteger(version) : Buffer.from([2, 2, 0, version]);
    return [`${arc}030${[1, 2, 3, 8][index]}`, value] as const;
  });
  const extensions = new Map<string, Uint8Array>([...versions, [`${arc}04`, chipId]]);
  const chip = certify({ name: 'Test VCEK', curve: 'P-384', issuer: intermediate, extensions });

  const reportAbout = (reportData: Uint8Array): Uint8Array => {
    const report = Buffer.alloc(1_184);
    report.writeUInt32LE(3, 0);
    report.writeUInt32LE(1, 0x34);
    report.set(reportData, 0x50);
    for (const [index, at] of [0, 1, 6, 7].entries()) report[0x180 + at] = firmware[index] ?? 0;
    report[0x188] = 0x19;
    report.set(chipId, 0x1a0);
    const signature = rawSignature('sha384', report.subarray(0, 0x2a0), chip.key);
    report.set(signature.subarray(0, 48).toReversed(), 0x2a0);
    report.set(signature.subarray(48).toReversed(), 0x2a0 + 72);
    return report;
  };
  const auxblob = tableOf([chip, intermediate, root]);
  const machine = new ConfigfsDouble({ provider: 'sev_guest', outblob: reportAbout, auxblob });
  return { machine, rootPem: root.certificate.toString(), chipPem: chip.certificate.toString() };
}
