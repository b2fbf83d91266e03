export interface Options<T = string> {
  name: T;
  run(input: T): Promise<void>;
}
type Id = string | number;
export type Handler<T> = (value: T) => void;
export const enum Color { Red, Green }
declare module "other" {
  export function outside(): void;
}
export namespace Deep.Inner {
  export class Box<T> {
    private readonly value: T;
    constructor(private value: T) {}
    public async get<K extends keyof T>(key: K): Promise<T[K]> {
      return this.value[key];
    }
    abstract area(): number;
    static create = () => new Box(1);
  }
}
export default function App({ title }: { title: string }) {
  const onClick = () => {};
  return <p onClick={onClick}>Don't {title}</p>;
}
export const View: React.FC<Props> = ({ children }) => <div>{children}</div>;
export abstract class Shape implements Area {
  protected override area?(): number;
}
