import { corrupt } from '../document-fault.js';

const signature = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const headerBytes = 512;
const entryBytes = 128;
const endOfChain = 0xfffffffe;
const firstSpecialSector = 0xfffffffa;
const streamType = 2;
const rootType = 5;
const headerFatSectors = 109;

export function isCompoundFile(bytes: Buffer): boolean {
  return bytes.length >= headerBytes && bytes.subarray(0, signature.length).equals(signature);
}

interface DirectoryEntry {
  name: string;
  type: number;
  start: number;
  bytes: number;
}

/** Reads the streams of a compound file (MS-CFB), the container of old Office formats. Throws `DocumentFault`. */
export class CompoundFile {
  private readonly sectorBytes: number;
  private readonly miniSectorBytes: number;
  private readonly miniCutoff: number;
  private readonly fat: number[] = [];
  private readonly miniFat: number[];
  private readonly entries: DirectoryEntry[];
  private readonly miniStream: Buffer;

  constructor(private readonly file: Buffer) {
    const sectorShift = file.readUInt16LE(30);
    const miniShift = file.readUInt16LE(32);
    if ((sectorShift !== 9 && sectorShift !== 12) || miniShift !== 6) throw corrupt('Office document');
    this.sectorBytes = 2 ** sectorShift;
    this.miniSectorBytes = 2 ** miniShift;
    this.miniCutoff = file.readUInt32LE(56);
    this.readFat();
    this.miniFat = numbersOf(this.readChain(file.readUInt32LE(60)));
    this.entries = entriesOf(this.readChain(file.readUInt32LE(48)));
    const root = this.entries.find(({ type }) => type === rootType);
    this.miniStream = root === undefined ? Buffer.alloc(0) : this.readChain(root.start);
  }

  /** Names of all streams, in any folder. */
  get names(): string[] {
    return this.entries.map(({ name }) => name);
  }

  /** Returns the first stream with this name, or null. */
  read(name: string): Buffer | null {
    const entry = this.entries.find((candidate) => candidate.type === streamType && candidate.name === name);
    if (entry === undefined) return null;
    const content = entry.bytes < this.miniCutoff ? this.readMiniChain(entry.start) : this.readChain(entry.start);
    if (content.length < entry.bytes) throw corrupt('Office document');
    return content.subarray(0, entry.bytes);
  }

  private readFat(): void {
    const { file } = this;
    const sectors: number[] = [];
    for (let index = 0; index < headerFatSectors; index += 1) sectors.push(file.readUInt32LE(76 + 4 * index));
    let next = file.readUInt32LE(68);
    for (let count = 0; next < firstSpecialSector; count += 1) {
      if (count > file.length / this.sectorBytes) throw corrupt('Office document');
      const numbers = numbersOf(this.sector(next));
      next = numbers.pop() ?? endOfChain;
      sectors.push(...numbers);
    }
    for (const sector of sectors) {
      if (sector >= firstSpecialSector) continue;
      if (this.fat.length * 4 > file.length + this.sectorBytes) throw corrupt('Office document');
      for (const number of numbersOf(this.sector(sector))) this.fat.push(number);
    }
  }

  private sector(index: number): Buffer {
    const start = (index + 1) * this.sectorBytes;
    if (start >= this.file.length) throw corrupt('Office document');
    return this.file.subarray(start, start + this.sectorBytes);
  }

  private readChain(start: number): Buffer {
    const parts: Buffer[] = [];
    for (let index = start; index < firstSpecialSector; index = this.fat[index] ?? endOfChain) {
      if (parts.length > this.fat.length) throw corrupt('Office document');
      parts.push(this.sector(index));
    }
    return Buffer.concat(parts);
  }

  private readMiniChain(start: number): Buffer {
    const parts: Buffer[] = [];
    for (let index = start; index < firstSpecialSector; index = this.miniFat[index] ?? endOfChain) {
      if (parts.length > this.miniFat.length) throw corrupt('Office document');
      parts.push(this.miniStream.subarray(index * this.miniSectorBytes, (index + 1) * this.miniSectorBytes));
    }
    return Buffer.concat(parts);
  }
}

function numbersOf(bytes: Buffer): number[] {
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readUInt32LE(4 * index));
}

function entriesOf(directory: Buffer): DirectoryEntry[] {
  const entries: DirectoryEntry[] = [];
  for (let start = 0; start + entryBytes <= directory.length; start += entryBytes) {
    const nameBytes = Math.min(64, directory.readUInt16LE(start + 64));
    if (nameBytes < 2) continue;
    entries.push({
      name: directory.toString('utf16le', start, start + nameBytes - 2),
      type: directory.readUInt8(start + 66),
      start: directory.readUInt32LE(start + 116),
      bytes: directory.readUInt32LE(start + 120),
    });
  }
  return entries;
}
