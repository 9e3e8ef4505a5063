import type { MergedLog } from './merged-log.js';
import type { Services } from './services.js';

/**
 * `npm run dev` starts this process with a channel and names the services to restart after a change of their sources:
 * `{"restart": ["api"]}`. When `npm run dev` dies, everything stops. Without a channel, this does nothing.
 */
export function followDevChannel(services: Pick<Services, 'restart'>, log: MergedLog): void {
  if (!process.channel) return;
  process.on('message', (message: { restart?: string[] }) => {
    const names = message.restart ?? [];
    log.note(`restarting ${names.join(', ')}`);
    void services.restart(names);
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
