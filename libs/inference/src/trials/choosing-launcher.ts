import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostLauncher, HostProcess } from '../host/host-process.js';
import type { HostCommand, HostMessage } from '../host/host-protocol.js';
import type { ProviderChooser } from './provider-chooser.js';
import { isCrash } from './provider-trial.js';

/** Starts hosts that load their model on the provider that the chooser has found to be the best. */
export function choosingLauncher(launch: HostLauncher, chooser: ProviderChooser): HostLauncher {
  // A list that begins with the processor leaves nothing to choose.
  return (load) => (load.providers[0] === 'cpu' ? launch(load) : new ChoosingHost(launch(load), chooser));
}

/** How often a host says that it still waits for its load: trials of other models may come first. */
const waitingIntervalMs = 30_000;

/** A host whose process waits for its load until its provider is chosen. */
class ChoosingHost implements HostProcess {
  private readonly ended = new AbortController();
  private chosen: HostLoadOptions | null = null;
  private isReady = false;
  private tell: (message: HostMessage) => void = () => undefined;

  constructor(
    private readonly host: HostProcess,
    private readonly chooser: ProviderChooser,
  ) {}

  get pid(): number | undefined {
    return this.host.pid;
  }

  send(command: HostCommand): void {
    if (command.type === 'load') void this.load(command.options);
    else this.host.send(command);
  }

  onMessage(listener: (message: HostMessage) => void): void {
    this.tell = listener;
    this.host.onMessage((message) => {
      if (message.type === 'ready') this.isReady = true;
      if (message.type === 'load-failed') this.noteFailedLoad(message.detail);
      listener(message);
    });
  }

  onExit(listener: (reason: string) => void): void {
    this.host.onExit((reason) => {
      this.ended.abort();
      void this.noteExit(reason).then(() => listener(reason));
    });
  }

  kill(): void {
    this.ended.abort();
    this.host.kill();
  }

  private async load(options: HostLoadOptions): Promise<void> {
    const { signal } = this.ended;
    const waiting = setInterval(() => this.tell({ type: 'hello', pid: this.pid ?? 0 }), waitingIntervalMs);
    signal.addEventListener('abort', () => clearInterval(waiting), { once: true });
    const choice = await this.chooser.choose(options, signal);
    clearInterval(waiting);
    if (signal.aborted) return;
    this.chosen = { ...options, ...choice };
    this.host.send({ type: 'load', options: this.chosen });
  }

  /** Only a load on one device tells which of them failed. */
  private noteFailedLoad(reason: string): void {
    const [provider, ...others] = this.chosen?.providers ?? [];
    if (this.chosen === null || provider === undefined || provider === 'cpu' || others.length > 0) return;
    this.chooser.noteFailedLoad(this.chosen, provider, reason.replace(/\.$/, ''));
  }

  /** Before a host is replaced, its crash is known to the next one. */
  private async noteExit(reason: string): Promise<void> {
    const [provider] = this.chosen?.providers ?? [];
    if (this.chosen === null || this.isReady || provider === undefined || !isCrash(reason)) return;
    await this.chooser.noteCrash(this.chosen, provider, reason);
  }
}
