/** A file of a form, whole. */
export class UploadedFile {
  constructor(
    readonly bytes: Buffer,
    /** As the caller's browser or client says it; trust neither. */
    readonly filename: string,
    readonly contentType: string,
  ) {}
}

export type FormValue = string | UploadedFile;

/** A body of `multipart/form-data` as it came in, before a DTO says what its fields are. */
export class FormBody {
  private readonly fields = new Map<string, FormValue[]>();

  add(name: string, value: FormValue): void {
    // Some clients name a list `image[]`.
    const field = name.endsWith('[]') ? name.slice(0, -2) : name;
    const values = this.fields.get(field);
    if (values === undefined) this.fields.set(field, [value]);
    else values.push(value);
  }

  entries(): IterableIterator<[string, FormValue[]]> {
    return this.fields.entries();
  }
}
