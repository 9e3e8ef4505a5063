import { PrismaService } from '#platform/prisma';
import { Injectable } from '#platform/injection';

/** An uploaded voice. */
export interface StoredVoice {
  id: string;
  accountId: string;
  modelId: string;
  /** The recording, in the storage. */
  sampleId: string;
  expiresAt: Date;
}

/** Expired rows deleted with each upload, which replaces a sweep. */
const maxForgotten = 100;

@Injectable()
export class VoicesRepository {
  constructor(private readonly prisma: PrismaService) {}

  async add(voice: StoredVoice): Promise<void> {
    await this.prisma.clonedVoice.create({ data: voice });
  }

  /** Null for a handle that is unknown, expired, or of another account or model. */
  async find(voice: Pick<StoredVoice, 'id' | 'accountId' | 'modelId'>): Promise<StoredVoice | null> {
    return await this.prisma.clonedVoice.findFirst({ where: { ...voice, expiresAt: { gt: new Date() } } });
  }

  async countLive(accountId: string): Promise<number> {
    return await this.prisma.clonedVoice.count({ where: { accountId, expiresAt: { gt: new Date() } } });
  }

  /** False if another process extended it first. */
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
