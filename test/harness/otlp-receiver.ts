import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received span; ids in hex, attributes as JSON. */
export interface ReceivedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  /** OTLP span kinds: 1 internal, 2 server, 5 consumer. */
  kind: number;
  attributes: Record<string, unknown>;
  failed: boolean;
  /** Names of the events. */
  events: string[];
}

interface WireValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
}

interface WireAttribute {
  key: string;
  value: WireValue;
}

interface WireSpan extends Omit<ReceivedSpan, 'attributes' | 'service' | 'failed' | 'parentSpanId' | 'events'> {
  parentSpanId?: string;
  attributes: WireAttribute[];
  status?: { code?: number };
  events?: { name: string }[];
}

interface WireExport {
  resourceSpans: { resource: { attributes: WireAttribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
}

/** Receives traces as OTLP over HTTP in JSON, like a collector. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything received, as text, for tests that check for forbidden content. */
  text = '';
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (request.url === '/v1/traces') this.take(Buffer.concat(parts).toString());
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(text: string): void {
    this.text += text;
    for (const { resource, scopeSpans } of (JSON.parse(text) as WireExport).resourceSpans) {
      const service = String(valuesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        const { name, traceId, spanId, parentSpanId = '', kind, attributes, status, events = [] } = span;
        const failed = status?.code === 2;
        this.spans.push({
          service,
          name,
          traceId,
          spanId,
          parentSpanId,
          kind,
          failed,
          events: events.map((event) => event.name),
          attributes: valuesOf(attributes),
        });
      }
    }
  }
}

function valuesOf(attributes: WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value as object)[0] as unknown]));
}
