import type { PrismaService } from '#platform/prisma';

/** A voice that somebody uploaded. */
export interface StoredVoice {
  id: string;
  accountId: string;
  modelId: string;
  /** The recording, in the storage. */
  sampleId: string;
  expiresAt: Date;
}

/** Rows deleted along with an upload: what expired goes without a sweep of its own. */
const maxForgotten = 100;

export class VoicesRepository {
  constructor(private readonly prisma: PrismaService) {}

  async add(voice: StoredVoice): Promise<void> {
    await this.prisma.clonedVoice.create({ data: voice });
  }

  /** Null for an unknown handle, one of another account or model, and one that has expired. */
  async find(voice: Pick<StoredVoice, 'id' | 'accountId' | 'modelId'>): Promise<StoredVoice | null> {
    return await this.prisma.clonedVoice.findFirst({ where: { ...voice, expiresAt: { gt: new Date() } } });
  }

  async countLive(accountId: string): Promise<number> {
    return await this.prisma.clonedVoice.count({ where: { accountId, expiresAt: { gt: new Date() } } });
  }

  /** False when somebody else has prolonged it meanwhile. */
  async prolong(id: string, from: string, to: Pick<StoredVoice, 'sampleId' | 'expiresAt'>): Promise<boolean> {
    const { count } = await this.prisma.clonedVoice.updateMany({ where: { id, sampleId: from }, data: to });
    return count === 1;
  }

  async forgetExpired(): Promise<void> {
    const expired = await this.prisma.clonedVoice.findMany({
      where: { expiresAt: { lte: new Date() } },
      select: { id: true },
      take: maxForgotten,
    });
    await this.prisma.clonedVoice.deleteMany({ where: { id: { in: expired.map(({ id }) => id) } } });
  }
}
