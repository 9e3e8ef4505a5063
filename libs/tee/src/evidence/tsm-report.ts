import { randomBytes } from 'node:crypto';
import { type Evidence, EvidenceError, type EvidenceReader } from './evidence.js';
import type { Machine } from './machine.js';

/** The kernel's interface to the security module of a confidential guest, since 6.7 (`configfs-tsm`). */
const reportFolder = '/sys/kernel/config/tsm/report';

/** Names that the kernel gives the modules. */
const kernelNames = { tdx: 'tdx_guest', 'sev-snp': 'sev_guest' } as const;

/** Reads evidence from configfs: a folder per report, 64 bytes in, the evidence out. */
export class TsmReportReader implements EvidenceReader {
  constructor(
    private readonly machine: Machine,
    readonly provider: EvidenceReader['provider'],
  ) {}

  async read(reportData: Uint8Array): Promise<Evidence> {
    const { machine } = this;
    const folder = `${reportFolder}/sluice-${randomBytes(8).toString('hex')}`;
    await attempt(`${reportFolder} has no report`, () => machine.makeFolder(folder));
    try {
      return await attempt('the kernel returned no report', () => this.readFrom(folder, reportData));
    } finally {
      await machine.removeFolder(folder).catch(() => undefined);
    }
  }

  private async readFrom(folder: string, reportData: Uint8Array): Promise<Evidence> {
    const { machine, provider } = this;
    const text = async (name: string) =>
      Buffer.from(await machine.readFile(`${folder}/${name}`))
        .toString('utf8')
        .trim();
    const kernelName = await text('provider');
    if (kernelName !== kernelNames[provider]) throw new EvidenceError(`this machine is ${kernelName}, not ${provider}`);
    const before = Number(await text('generation'));
    await machine.writeFile(`${folder}/inblob`, reportData);
    const quote = await machine.readFile(`${folder}/outblob`);
    const certificates = provider === 'sev-snp' ? await this.certificatesOf(folder) : null;
    // The number counts writes: after more than ours, the evidence is about the bytes of another process.
    if (Number(await text('generation')) !== before + 1) throw new EvidenceError('another process wrote to the report');
    return { quote, ...(certificates !== null && { certificates }) };
  }

  /** Null where the host of the guest passed none on. */
  private async certificatesOf(folder: string): Promise<Uint8Array | null> {
    const bytes = await this.machine.readFile(`${folder}/auxblob`).catch(() => null);
    return bytes === null || bytes.length === 0 ? null : bytes;
  }
}

async function attempt<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EvidenceError) throw error;
    throw new EvidenceError(`${what}: ${(error as Error).message}`);
  }
}
