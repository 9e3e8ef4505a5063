import type { GraphTensor, KeptTensor, TensorData } from '../graph-session.js';
import type { OrtApi, Pointer } from './ort-api.js';

/** A tensor over the memory of `data`. Who holds it keeps that memory from being collected while the runtime reads it. */
export interface HostTensor {
  value: Pointer;
  data: ArrayBufferView;
}

/** A tensor that the runtime owns, on the device or beside it. */
export class HeldTensor implements KeptTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data = null;
  private isReleased = false;

  constructor(
    private readonly address: Pointer,
    { type, dims }: { type: string; dims: readonly number[] },
    private readonly owner: { read: () => TensorData; release: () => void },
  ) {
    [this.type, this.dims] = [type, dims];
  }

  /** Throws once it is released: its address may be that of another tensor. */
  get value(): Pointer {
    if (this.isReleased) throw new Error('the tensor was released');
    return this.address;
  }

  read(): TensorData {
    return this.owner.read();
  }

  release(): void {
    if (this.isReleased) return;
    this.owner.release();
    this.isReleased = true;
  }
}

/** Inputs and outputs of a session, bound for any number of runs. */
export class Binding {
  /** Bytes that a run copies from the host and back. */
  bytesIn = 0;
  bytesOut = 0;
  private binding: Pointer | null;
  private readonly hostInputs: (HostTensor & { name: string })[] = [];
  private readonly hostOutputs: HostTensor[] = [];

  constructor(
    private readonly api: OrtApi,
    private readonly session: Pointer,
    private readonly valueOver: (name: string, tensor: GraphTensor) => HostTensor,
  ) {
    this.binding = api.create('CreateIoBinding', session);
  }

  bindInput(name: string, tensor: GraphTensor): void {
    if (tensor instanceof HeldTensor) return this.api.call('BindInput', this.binding, name, tensor.value);
    const host = this.valueOver(name, tensor);
    this.hostInputs.push({ ...host, name });
    this.bytesIn += host.data.byteLength;
  }

  bindOutput(name: string, tensor: GraphTensor): void {
    if (tensor instanceof HeldTensor) return this.api.call('BindOutput', this.binding, name, tensor.value);
    const host = this.valueOver(name, tensor);
    this.hostOutputs.push(host);
    this.bytesOut += host.data.byteLength;
    this.api.call('BindOutput', this.binding, name, host.value);
  }

  async run(): Promise<void> {
    const { api, binding, session } = this;
    if (binding === null) throw new Error('the binding was released');
    // A host tensor is copied to the device when it is bound, and not at the run.
    for (const { name, value } of this.hostInputs) api.call('BindInput', binding, name, value);
    api.call('SynchronizeBoundInputs', binding);
    await api.callInThread('RunWithBinding', session, null, binding);
    api.call('SynchronizeBoundOutputs', binding);
  }

  release(): void {
    if (this.binding === null) return;
    this.api.release('binding', this.binding);
    this.binding = null;
    for (const { value } of [...this.hostInputs.splice(0), ...this.hostOutputs.splice(0)]) {
      this.api.release('value', value);
    }
  }
}
