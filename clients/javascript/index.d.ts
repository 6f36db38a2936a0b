/** An input that the query does not take, or a manifest that is another: the sentence shows nothing private. */
export class Refused extends Error {}

/** What must outlive the process, as JSON: private. */
export interface Memory {
  sent: Record<string, number>;
  cohorts: Record<string, number>;
  values: Record<string, [string, string, number][]>;
}

type Answer = number | boolean | (number | string)[] | [number | boolean, number | number[]];

/** One user's client: each query once, by what a manifest says. */
export class Client {
  private constructor();
  static open(manifest: Uint8Array, hash: string, memory?: Partial<Memory>): Promise<Client>;
  another(memory?: Partial<Memory>): Client;
  get memory(): Memory;
  upload(name: string, value: string | Answer | Answer[], entropy?: Uint8Array): Uint8Array;
}
