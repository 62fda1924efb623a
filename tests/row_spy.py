"""A classifier that remembers which rows it was fitted on: the last column is the row's number."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB


class RowSpy(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, -1].astype(int)
        self.labels_ = np.asarray(y)
        self.inner_ = GaussianNB().fit(X[:, :-1], y, sample_weight=sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X[:, :-1])
