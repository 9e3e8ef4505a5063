import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DialTarget, Egress, type HostAddress } from './index.js';

/*
 * Tests that no client URL reaches an internal address: in all spellings, by name, by redirect, and by DNS rebinding.
 * Resolver and dialer are fakes. They record what would be dialed and connect everything to one server on this machine,
 * which is reachable only by a public address.
 */

const innerV4 = [
  ...['127.0.0.1', '127.1.2.3', '127.255.255.254', '10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255'],
  ...['192.168.0.1', '192.168.255.254', '169.254.169.254', '169.254.0.1', '100.64.0.1', '100.127.255.254', '0.0.0.0'],
  ...['0.1.2.3', '255.255.255.255', '224.0.0.1', '239.255.255.250', '240.0.0.1', '192.0.0.1', '192.0.2.1'],
  ...['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '192.88.99.1'],
];

const innerV6 = [
  ...['::', '::1', '0:0:0:0:0:0:0:1', 'fe80::1', 'febf::1', 'fc00::1', 'fd12:3456:789a::1', 'fec0::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8', '::127.0.0.1'],
  ...['::7f00:1', '::ffff:0:127.0.0.1', '::ffff:0:7f00:1', '64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::a00:1'],
  ...['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:c0a8:101::', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:db8::1'],
  ...['2001:10::1', '2001:20::1', '2001:2::1', '100::1', '3fff::1', '5f00::1', '2620:4f:8000::1', '4000::1', '1::1'],
];

/** Spellings of an IPv4 address that browsers and C libraries accept. */
function spellings(address: string): string[] {
  const parts = address.split('.').map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = parts;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number): string => `0x${value.toString(16)}`;
  const octal = (value: number): string => `0${value.toString(8)}`;
  return [
    address,
    String(whole),
    hex(whole),
    `0X${whole.toString(16).toUpperCase()}`,
    octal(whole),
    parts.map(hex).join('.'),
    parts.map(octal).join('.'),
    parts.map((part) => `000${part.toString(8)}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${hex(a)}.${octal(b)}.${c}.${d}`,
    `${address}.`,
    address.replaceAll('.', '。'),
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    [...address].map((letter) => `%${(letter.codePointAt(0) ?? 0).toString(16)}`).join(''),
  ];
}

const publicAddress = '93.184.215.14';
const publicV6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c';

const addressed = [
  ...innerV4.flatMap(spellings),
  ...innerV6.map((address) => `[${address}]`),
  ...innerV6.map((address) => `[${address.toUpperCase()}]`),
].flatMap((host, index) => [`http://${host}/`, `https://${host}:${1 + ((index * 7919) % 65_000)}/latest/meta-data/`]);

const written = [
  ...['file:///etc/passwd', 'file://localhost/etc/passwd', 'gopher://127.0.0.1:6379/_INFO', 'ftp://public.example/a'],
  ...['dict://127.0.0.1:11211/stat', 'ldap://127.0.0.1/', 'data:image/png;base64,AAAA', 'javascript:alert(1)'],
  ...['blob:http://public.example/1', 'ws://public.example/', 'jar:http://public.example!/a', 'tftp://127.0.0.1/a'],
  ...['about:blank', 'unix:/var/run/docker.sock', 'http+unix://%2fvar%2frun%2fdocker.sock/', 'view-source:http://a/'],
  ...[
    '',
    ' ',
    'http://',
    'http:///',
    'https://?',
    'http://[',
    'http://[::1',
    'http://[fe80::1%25eth0]/',
    '//127.0.0.1/',
  ],
  ...['http://public.example:99999/', 'http://public.example:-1/', 'http://exa mple/', 'http://%00/', '/etc/passwd'],
  ...['http://public.example@127.0.0.1/', 'http://127.0.0.1@public.example/', 'http://:p@public.example/'],
  ...['http://public.example%2f@127.0.0.1/', 'http://public.example%00@127.0.0.1/', 'http://u:p@[::1]/'],
  ...['http://127.0.0.1\\@public.example/', 'http://127.0.0.1#@public.example/', 'http://127.0.0.1?@public.example/'],
  ...['http:127.0.0.1/', 'http:/127.0.0.1/', 'http:\\\\127.0.0.1\\', 'ht\ntp://127.0.0.1/', '\thttp://127.0.0.1/'],
  ...['http://127.0.0.1.nip.example/', 'http://10.0.0.1.nip.example/', 'http://a9fea9fe.nip.example/'],
  ...['http://localhost/', 'http://LOCALHOST/', 'http://localhost./', 'http://a.localhost/', 'http://metadata/'],
  ...['http://mixed.example/', 'http://mixed-v6.example/', 'http://nobody.example/', 'http://mapped.example/'],
  ...['http://zone.example/', 'http://nonsense.example/', `http://${'a'.repeat(9_000)}.example/`],
];

/** Names as a hostile DNS server would return them. */
const names: Record<string, string[]> = {
  'public.example': [publicAddress],
  'public-v6.example': [publicV6],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  '10.0.0.1.nip.example': ['10.0.0.1'],
  'a9fea9fe.nip.example': ['169.254.169.254'],
  localhost: ['127.0.0.1', '::1'],
  'a.localhost': ['127.0.0.1'],
  metadata: ['169.254.169.254'],
  'mixed.example': [publicAddress, '10.0.0.1'],
  'mixed-v6.example': [publicV6, '::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'zone.example': ['fe80::1%eth0'],
  'nonsense.example': ['not an address'],
};

describe('internal URLs', () => {
  let server: Server;
  let port = 0;
  let dialed: DialTarget[] = [];
  let resolved: string[] = [];
  let locations: Map<string, { status: number; location: string }>;
  /** If set, the answers of successive lookups of a name. */
  let script: string[][] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const redirect = locations.get(request.url ?? '');
      if (redirect !== undefined) response.writeHead(redirect.status, { location: redirect.location }).end();
      else response.writeHead(200, { 'content-type': 'image/png' }).end('image');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  beforeEach(() => {
    dialed = [];
    resolved = [];
    script = [];
    locations = new Map();
  });

  const resolver = (host: string): Promise<HostAddress[]> => {
    resolved.push(host);
    const addresses = script.shift() ?? names[host] ?? [];
    return Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  };
  const egress = new Egress({
    resolver,
    dialer: (target) => {
      dialed.push(target);
      return Promise.resolve(connect({ host: '127.0.0.1', port }));
    },
  });
  const read = (url: string) => egress.read({ url, owner: 'account', maxBytes: 1_000, param: 'image_url' });
  const refused = { code: 'INVALID_REQUEST', param: 'image_url' };

  /** Asserts that only the two public addresses were dialed. */
  const expectDialed = (count: number): void => {
    expect(
      dialed.map(({ address }) => address).filter((address) => ![publicAddress, publicV6].includes(address)),
    ).toEqual([]);
    expect(dialed).toHaveLength(count);
  };

  it('number several hundred', () => {
    expect(new Set([...addressed, ...written]).size).toBeGreaterThan(800);
  });

  it('are rejected in every spelling of the address before anything is dialed or requested', async () => {
    for (const url of addressed) await expect(read(url), url).rejects.toMatchObject(refused);
    expectDialed(0);
    expect(resolved).toEqual([]);
  });

  it('are rejected by scheme, by form, and by names that resolve to them', async () => {
    for (const url of written) await expect(read(url), url).rejects.toMatchObject(refused);
    expectDialed(0);
  });

  it('never reveal internal content to the client', async () => {
    for (const url of ['http://10.0.0.1.nip.example/', 'http://nobody.example/', 'http://127.0.0.1/']) {
      const error: unknown = await read(url).catch((reason: unknown) => reason);
      expect((error as Error).message).not.toMatch(/\d+\.\d+\.\d+/);
    }
  });

  it('are not hidden by a name that looks like one', async () => {
    for (const url of [
      'http://public.example#@127.0.0.1/',
      'http://public.example/\\@127.0.0.1/',
      'http://public.example?@127.0.0.1/',
      'http://public-v6.example/',
      `http://[${publicV6}]/`,
      `http://${publicAddress}/`,
    ]) {
      expect((await read(url)).bytes.toString(), url).toBe('image');
    }
    expectDialed(6);
  });

  const inner = [
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/',
    'http://[::1]/',
    'http://0x7f.1/',
    'http://localhost/',
  ];
  const outer = ['file:///etc/passwd', 'gopher://127.0.0.1/', '//127.0.0.1/', 'http://u:p@public.example/', 'data:,x'];

  it.each([301, 302, 303, 307, 308])('are not followed when a %i redirects there', async (status) => {
    for (const [index, location] of [...inner, ...outer].entries()) {
      const path = `/${status}/${index}`;
      locations.set(path, { status, location });
      await expect(read(`http://public.example${path}`), location).rejects.toMatchObject(refused);
    }
    expectDialed(inner.length + outer.length);
  });

  it('are detected after several redirects, and redirects are limited', async () => {
    locations.set('/1', { status: 302, location: 'http://public-v6.example/2' });
    locations.set('/2', { status: 302, location: '/3' });
    locations.set('/3', { status: 302, location: 'http://10.0.0.1/' });
    await expect(read('http://public.example/1')).rejects.toMatchObject(refused);
    expectDialed(3);
    locations.set('/ring', { status: 302, location: '/ring' });
    await expect(read('http://public.example/ring')).rejects.toMatchObject({
      message: expect.stringContaining('often'),
    });
    expectDialed(7);
  });

  it('are not reached by DNS rebinding: a name is resolved once and its address is used', async () => {
    script = [[publicAddress], ['127.0.0.1']];
    expect((await read('http://rebinding.example/')).bytes.toString()).toBe('image');
    expect(resolved).toEqual(['rebinding.example']);
    expectDialed(1);
  });

  it('are checked again for every redirect to the same name', async () => {
    locations.set('/again', { status: 307, location: '/inside' });
    script = [[publicAddress], ['127.0.0.1']];
    await expect(read('http://rebinding.example/again')).rejects.toMatchObject(refused);
    expect(resolved).toHaveLength(2);
    expectDialed(1);
  });

  it('can be allowed by the operator per network', async () => {
    const open = new Egress({
      resolver,
      dialer: (target) => {
        dialed.push(target);
        return Promise.resolve(connect({ host: '127.0.0.1', port }));
      },
      allowedNetworks: ['127.0.0.0/8', 'fd00::/8'],
    });
    for (const url of ['http://127.0.0.1/', 'http://[::ffff:127.0.0.1]/', 'http://[fd00::1]/', 'http://a.localhost/']) {
      expect((await open.read({ url, owner: 'account', maxBytes: 1_000 })).bytes.toString(), url).toBe('image');
    }
    dialed = [];
    for (const url of ['http://10.0.0.1/', 'http://[::1]/', 'http://localhost/']) {
      await expect(open.read({ url, owner: 'account', maxBytes: 1_000 })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
    }
    expect(dialed).toEqual([]);
    expect(() => new Egress({ allowedNetworks: ['everything'] })).toThrow('everything');
  });
});
