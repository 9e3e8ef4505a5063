import ipaddr from 'ipaddr.js';
import { PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import {
  type ArtifactRecord,
  ArtifactStore,
  type ByteRange,
  DownloadLinks,
  type LinkTarget,
  type OpenArtifact,
} from '#storage';
import { DownloadLinksRepository } from './download-links.repository.js';

/** Downloads per link: the first and a few retries. */
const maxDownloads = 5;
/** Requests of one link per window; more are abuse. */
const maxRequests = 20;
const windowMs = 30_000;

/**
 * Delivers media for download links. Rejects with `MEDIA_NOT_FOUND` when there is nothing (yet), `MEDIA_EXPIRED` when
 * the link is expired, used up, revoked or belongs to another network, `RATE_LIMIT_EXCEEDED` when it is abused, and
 * `SERVICE_UNAVAILABLE` while database or storage are unavailable.
 */
@Injectable()
export class DownloadService {
  constructor(
    private readonly links: DownloadLinks,
    private readonly artifacts: ArtifactStore,
    private readonly repository: DownloadLinksRepository,
  ) {}

  /** Returns the target of the link; uses up none of its downloads. */
  async look(token: string): Promise<ArtifactRecord> {
    return await this.find(await this.enter(token));
  }

  /** Opens a download. `range` selects a part, once the size is known. */
  async open(token: string, ip: string, range: (bytes: number) => ByteRange | undefined): Promise<OpenArtifact> {
    const { artifacts, repository } = this;
    const target = await this.enter(token);
    const { bytes } = await this.find(target);
    const part = range(bytes);
    const isCounted = await available(() =>
      repository.takeDownload(target.artifactId, { network: networkOf(ip), max: maxDownloads }),
    );
    if (!isCounted) throw over('This link is used up.');
    return await artifacts.open(target.artifactId, part);
  }

  /** Revokes the link and deletes its media, which nothing else refers to. */
  async revoke(token: string): Promise<void> {
    const { links, repository, artifacts } = this;
    const target = links.read(token);
    await available(async () => {
      await repository.countRequest(target, windowMs);
      await repository.revoke(target.artifactId);
    });
    await artifacts.delete(target.artifactId);
  }

  private async enter(token: string): Promise<LinkTarget> {
    const { links, repository } = this;
    const target = links.read(token);
    const { requests, revoked } = await available(() => repository.countRequest(target, windowMs));
    if (requests > maxRequests) {
      const message = `This link was asked for more than ${maxRequests} times in ${windowMs / 1000} seconds.`;
      throw new PlatformError('RATE_LIMIT_EXCEEDED', message, null, { retry: { afterSeconds: windowMs / 1000 } });
    }
    if (revoked) throw over('This link was revoked.');
    return target;
  }

  private async find({ artifactId }: LinkTarget): Promise<ArtifactRecord> {
    const record = await this.artifacts.find(artifactId);
    if (record === null) throw new PlatformError('MEDIA_NOT_FOUND', 'There is nothing at this link (yet).');
    return record;
  }
}

function over(message: string): PlatformError {
  return new PlatformError('MEDIA_EXPIRED', message);
}

async function available<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (cause) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot give out media right now.', null, { cause });
  }
}

/** Returns the network of a caller: 24 bits of IPv4, 48 bits of IPv6. */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown';
  const address = ipaddr.process(ip);
  const [bits, kind] = address.kind() === 'ipv4' ? [24, ipaddr.IPv4] : [48, ipaddr.IPv6];
  return kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
}
