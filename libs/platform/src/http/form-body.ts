/** A complete file of a form. */
export class UploadedFile {
  constructor(
    readonly bytes: Buffer,
    /** As sent by the client; not trustworthy. */
    readonly filename: string,
    readonly contentType: string,
  ) {}
}

export type FormValue = string | UploadedFile;

/** The field that a part belongs to: some clients send a list as `image[]`, some as `image[0]`, `image[1]`. */
export function fieldOfPart(name: string): string {
  return name.replace(/\[\d{0,4}\]$/, '');
}

/** A received `multipart/form-data` body before a DTO types its fields. */
export class FormBody {
  private readonly fields = new Map<string, FormValue[]>();

  add(name: string, value: FormValue): void {
    const field = fieldOfPart(name);
    const values = this.fields.get(field);
    if (values === undefined) this.fields.set(field, [value]);
    else values.push(value);
  }

  entries(): IterableIterator<[string, FormValue[]]> {
    return this.fields.entries();
  }
}
