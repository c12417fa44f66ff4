// The data in a page: what report/page.py writes, and the page's scripts read.

/** A Vega-Lite specification: its shape is Vega's own. */
type Spec = any;
/** A number as JSON holds it: infinite ones are texts. */
type Cell = number | string | boolean | null;
type Value = Cell | Cell[];
type Row = Record<string, Cell>;
type Child = Node | string | null | undefined;

interface Attributes {
  on?: Record<string, EventListener>;
  hidden?: boolean;
  [name: string]: unknown;
}

interface Dataset {
  size: number;
  /** The columns that hold places in a list of names of the page. */
  coded: ("optimizer" | "problem" | "function")[];
  columns: Record<string, Cell[]>;
}

interface Column {
  label: string;
  kind: string;
  /** Whether its cells stand flush right. */
  right: boolean;
  help?: string;
}

interface TableData {
  id: string;
  title: string;
  /** Titles of scopes, where they differ. */
  titles: Record<string, string>;
  note: string;
  columns: Column[];
  rows: Value[][];
  /** The same as text, where it is not the value itself. */
  texts?: (string | null)[][] | null;
  /** The scope of each row, if rows have scopes. */
  scopes: string[] | null;
  /** Places (row, column) of cells in bold. */
  bold: [number, number][];
  latex: {head: string; heads: Record<string, string>; rows: string[]; tail: string} | null;
}

/** What a figure needs around its chart. */
interface Framed {
  id: string;
  title: string;
  caption: string;
  frame?: string;
  widest?: number | null;
}

interface FigureData extends Framed {
  alt: string;
  spec: Spec;
  dataset: string;
  by: string[];
  problem: string | null;
  least: number;
  margin: number;
}

interface Effort {
  dataset: string;
  log: boolean;
  counted: boolean;
}

interface ProblemsData {
  axes: Record<string, Effort>;
  scales: Record<string, {measure: string; log: boolean; floor: number}>;
  absent: Record<string, string>;
  /** The fields of the line and of both ends of its band. */
  statistics: Record<string, [string, string, string]>;
  titles: {convergence: string; parallel: string};
  /** Caption and alternative text; of convergence by kind of curve, axis and statistic. */
  words: {
    convergence: Record<string, Record<string, Record<string, [string, string]>>>;
    parallel: [string, string];
  };
  specs: Record<string, Spec>;
  measures: Record<string, string>;
  parallel: string | null;
  shown: string[];
  table: TableData;
}

/** The first screen's table, and the trials from which the filters make another. */
interface AnswerData {
  table: TableData;
  trials: TrialsData | null;
}

/** What report/trials.py writes. */
interface TrialsData {
  optimizers: string[];
  problems: {
    name: string;
    function: string;
    optimum: number | null;
    sign: number;
    /** Of each optimizer, by trial: what orders them. */
    values: Cell[][];
    scores: Cell[][] | null;
    scale: number | null;
  }[];
  /** Problem, optimizer, failed studies, of how many, failed evaluations, studies without a value, left out. */
  failed: [string, string, number, number, number, number, number][];
  unscored: [string, string][];
  standing: string[];
  original: string;
  view: string;
  metric: string;
  same_view: boolean;
  unit: boolean;
  scale: {undefined: string; usual: string};
  race: {live: string[]} | null;
  /** Of a race: two optimizers, the probability that the first wins, and its interval. */
  decided: [string, string, number | null, number, number][] | null;
  alpha: number;
  rope: number;
  generator: {state: string; inc: string};
  constants: Constants;
}

interface Constants {
  same: number;
  at_optimum: number;
  rope: number;
  apart: number;
  rounded: number;
  enumerated: number;
  flips: [number, number];
  flip_work: number;
  signs: Record<string, string>;
  matrix: number;
  longest_name: number;
  name_begin: number;
  longest_figure: number;
  listed: number;
  warnings: number;
  failures: number;
}

interface Estimate {
  value: number | null;
  lower: number;
  upper: number;
}

interface Pair {
  a: string;
  b: string;
  pi: number | null;
  lower: number | null;
  upper: number | null;
  verdict: string;
}

interface Failed {
  studies: number;
  of: number;
  evaluations: number;
  without: number;
  left: number;
}

/** The answer for some optimizers on some problems. */
interface Part {
  order: string[];
  score: Map<string, (number | null)[]>;
  pairs: Pair[];
  met: Map<string, Pair>;
  failed: Map<string, Failed>;
  values: Map<string, {best: number | null; median: number | null}> | null;
  coverage: {problems: number; functions: number; trials: [number, number]; left_out: string[]};
  scale: string;
  scope: string;
  winner: string | null;
  headline: string;
  first: string[];
  warnings: string[];
  undecided: string[];
}

interface CodeData {
  title: string;
  text: string;
}

/** A block of a section: one of the above, by its kind. */
interface Block {
  kind: "figure" | "pair" | "table" | "answer" | "problems" | "code";
  blocks?: FigureData[];
  [field: string]: any;
}

interface SectionData {
  id: string;
  title: string;
  help: string;
  absent: string;
  frame: string;
  words: string[];
  scoped: Record<string, string[]>;
  after: Record<string, string[]>;
  blocks: Block[];
}

interface PageData {
  version: string;
  store: string;
  counts: string;
  optimizers: {name: string; colour: string; dash: number[]; shape: string}[];
  present: string[];
  problems: {name: string; dimension: number | null}[];
  functions: {name: string; problems: string[]}[];
  dimensions: number[];
  config: Spec;
  datasets: Record<string, Dataset>;
  sections: SectionData[];
}

/** What a chart draws, asked each time that it is drawn. */
interface Described {
  spec: Spec;
  /** Of the data set in the specification. */
  name: string;
  rows: Row[];
  alt: string;
  /** A sentence about what is not drawn. */
  cut?: string;
  by?: string[];
  least?: number;
  margin?: number;
}

interface VegaView {
  finalize(): VegaView;
  toSVG(): Promise<string>;
}

interface Embedded {
  view: VegaView;
  finalize(): void;
}

interface Window {
  vegaEmbed(place: HTMLElement, spec: Spec, options: object): Promise<Embedded>;
}

// The live page: what serve/ sends.

interface LiveState {
  /** Another server at the same address has another. */
  server: string;
  number: number;
  version: number;
  store: string;
  problem: string;
  readable: boolean;
  /** The share of the store that is not read yet. */
  unread: number;
  paused: boolean;
  trouble: string;
  commands: {time: number; action: string; did: string}[];
  total: number;
  ended: number;
  failed: number;
  counts: Record<string, number>;
  evaluations: number;
  rate: number;
  left: string;
  live: boolean;
  racing: boolean;
  groups: {
    optimizer: string;
    suite: string;
    total: number;
    good: number;
    failed: number;
    running: number;
    evaluations: number;
    each: string;
    left: string;
  }[];
  running: {
    count: number;
    rows: {
      study: string;
      optimizer: string;
      problem: string;
      trial: number;
      where: string;
      evaluations: number;
      budget: number | null;
      since: string;
    }[];
  };
  runs: {id: string; how: string; said: string; where: string; pilots: string; studies: number; began: number}[];
  failures: {
    what: string;
    reason: string;
    optimizers: string;
    problems: string;
    studies: string[];
    traceback: string;
  }[];
}

interface LiveData {
  version: number;
  live: boolean;
  offered: Record<"optimizer" | "problem" | "suite" | "dimension" | "setting" | "tag", string[]> & {
    /** Of which kinds only the first names are offered. */
    cut?: string[];
  };
  report: PageData | null;
  why: string;
  /** Whether other sections follow. */
  more?: boolean;
}

/** What stands below the first section, the sections that follow it, and their data sets. */
interface MoreData {
  after: SectionData["after"];
  sections: SectionData[];
  datasets: PageData["datasets"];
}

interface ChangedOptimizer {
  optimizer: string;
  verdict?: string;
  said: string;
  problems: {problem: string; p: number; verdict: string; before: string; after: string; trials: number[]}[];
}

interface ChangesData {
  sides: {key: string; label: string}[];
  a?: string;
  b?: string;
  optimizers?: ChangedOptimizer[];
  only?: Record<"A" | "B", string[]>;
}

interface StudyRow {
  study: string;
  trial: number;
  best: number | null;
  status: string;
  failed: boolean;
}

interface StudiesData {
  problem: string;
  sign: number;
  optimizers: {optimizer: string; studies: StudyRow[]}[];
  /** How many are left out. */
  more: number;
}

interface ObjectiveData {
  name: string;
  sense: string;
  best: number | null;
  log: boolean;
  value: (number | null)[];
  /** The best so far. */
  line: (number | null)[];
}

interface StudyData {
  study: string;
  optimizer: string;
  problem: string;
  trial: number;
  status: string;
  /** Whether it goes on. */
  open: boolean;
  reason: string;
  evaluations: number;
  budget: number | null;
  objectives: ObjectiveData[];
  where: string;
  settings: string;
  attempt: number;
  rows: number;
  shown: number;
  config: Spec;
  trace: Record<"evaluation" | "suggest" | "evaluate" | "observe", number[]>;
  parameters: {name: string; numeric: boolean; log: boolean; values: Cell[]}[];
  /** How many points no other dominates, of several objectives. */
  front: number;
  /** The places of the best points. */
  top: number[];
  errors: {evaluation: number; status: string; message: string}[];
  traceback: string;
}
